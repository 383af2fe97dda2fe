"""python -m cellward.server.vault CONFIG.toml SOCKET: the vault's process."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from cellward.errors import CellwardError, InputError, out_of_memory
from cellward.files.whole import private_files
from cellward.server.config import ServerConfig
from cellward.server.vault.socket import serve_socket
from cellward.server.vault.vault import Vault

ALLOW_OUTSIDE = "--allow-outside"


def main(arguments: list[str]) -> int:
    """Serve one configuration; every error is one sentence and an exit code."""
    named = [one for one in arguments if one != ALLOW_OUTSIDE]
    try:
        if len(named) != 2:
            raise InputError(f"give a configuration and the name of a socket: CONFIG.toml SOCKET [{ALLOW_OUTSIDE}]")
        signal.signal(signal.SIGTERM, _interrupted)
        with private_files():
            vault = Vault(ServerConfig.read(named[0], outside=ALLOW_OUTSIDE in arguments))
            serve_socket(vault, named[1])
    except InputError as error:
        return _said(str(error), 2)
    except CellwardError as error:
        return _said(str(error), 3)
    except KeyboardInterrupt:
        return 0
    except Exception as error:  # noqa: BLE001 (what it says may hold a value of the records)
        why = "memory ran out" if out_of_memory(error) else f"this is a bug ({type(error).__name__})"
        return _said(f"{why}; nothing was published", 3)
    return 0


def _interrupted(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _said(sentence: str, code: int) -> int:
    print(f"cellward vault: {' '.join(sentence.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
