"""`python -m ebbing` is the command `ebbing`."""

from ebbing.cli import main

if __name__ == "__main__":
    main()
