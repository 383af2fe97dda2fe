"""What all tests share: the shared data when it is there, and one line saying so when it is not."""

import os
import signal
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("CELLWARD_SHARED", ROOT.parent / "shared"))
REQUIRED = os.environ.get("CELLWARD_REQUIRE_SHARED") == "1"

# A shell's background jobs ignore Ctrl-C, and so would the tests that send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore = []
if not SHARED.is_dir():
    if REQUIRED:
        raise RuntimeError(f"CELLWARD_REQUIRE_SHARED=1 but there is no shared data at {SHARED}; set CELLWARD_SHARED")
    collect_ignore.append("shared")


def pytest_report_header():
    if not SHARED.is_dir():
        return "tests/shared not collected: no benchmark data (CELLWARD_SHARED)"
    return None
