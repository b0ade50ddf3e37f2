"""Imports recorded sessions from the files of other tools into a store."""

from pageturn.apps.importing.importing import Renamed, Report, files_in, import_file

__all__ = ["Renamed", "Report", "files_in", "import_file"]
