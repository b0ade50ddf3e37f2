"""Transcripts: the files that other tools record, read as steps. Uses formats and values."""
