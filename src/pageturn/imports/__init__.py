"""Imports: people's own recorded sessions, from the files of many tools, as sessions of ours."""

from pageturn.imports.importing import Renamed, Report, files_in, import_file

__all__ = ["Renamed", "Report", "files_in", "import_file"]
