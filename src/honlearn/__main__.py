"""``python -m honlearn`` is the command line."""

from honlearn.cli import main

if __name__ == "__main__":
    main()
