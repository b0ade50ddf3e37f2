"""Transcripts: reads the session files of other tools as steps. Uses formats and values."""
