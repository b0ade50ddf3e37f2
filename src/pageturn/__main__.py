"""`pageturn`, and `python -m pageturn`: the command line, whose packages come with an extra."""

import sys

from pageturn.values.errors import MissingExtra


def main() -> None:
    """Run the command line, or say which packages are missing."""
    try:
        from pageturn.apps.cli.main import main as command  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("click", "rich"):
            raise
        sys.exit(str(MissingExtra("the command line", extra="cli")))
    command()


if __name__ == "__main__":
    main()
