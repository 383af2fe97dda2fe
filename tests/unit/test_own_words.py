"""Standard output holds what the command line says and nothing else."""

import subprocess
import sys

from cellward.cli.own_words import own_words

PROGRAM = """
import os
from cellward.cli.own_words import own_words
print("before")
with own_words():
    os.write(1, b"noise of a library\\n")
    print("ours: ä")
print("after")
"""


def test_what_libraries_print_goes_to_standard_error():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines() == ["before", "ours: ä", "after"]
    assert done.stderr.splitlines() == ["noise of a library"]


def test_a_closed_pipe_behind_us_is_no_traceback():
    program = "from cellward.cli import main\nmain()"
    command = f"{sys.executable} -c '{program}' --help | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_standard_output_that_is_taken_is_left_alone(capsys):
    with own_words():
        print("ours")
    assert capsys.readouterr().out == "ours\n"
