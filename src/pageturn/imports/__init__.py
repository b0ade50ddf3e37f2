"""Imports: people's own recorded sessions, from the files of many tools, as sessions of ours."""

from pageturn.imports.importing import Report, files_in, import_file

__all__ = ["Report", "files_in", "import_file"]
