"""Formats: the JSON of each vendor as messages, and prompts as that JSON; `transcripts` are the files that other tools record.

Every module of a vendor has `load_reply`, `load_request`, `load_messages`, `dump` and `Stream`. What a vendor says beyond what a message
has is kept in `extra` under the name of the format, so that it goes back to that vendor and to nobody else.

Hosts use them without a session, and the rooms above do. They use values, and know no session, clock or file.
"""
