"""The command line: one file a command, arguments to the flow of the library and back to exit codes; no logic of its own."""

from cellward.cli.app import main

__all__ = ["main"]
