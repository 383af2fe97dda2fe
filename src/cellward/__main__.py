"""``python -m cellward`` is the command line."""

from cellward.cli import main

if __name__ == "__main__":
    main()
