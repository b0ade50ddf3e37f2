"""`python -m pageturn` is the command line."""

from pageturn.cli.main import main

main()
