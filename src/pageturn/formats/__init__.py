"""Formats: read each vendor's JSON as messages, and write prompts as that JSON; `transcripts` reads the files of other tools.

Every vendor has `load_reply`, `load_request`, `load_messages`, `dump` and `Stream`. Fields that a message has no place for are kept in
`extra` under the name of the format, and are sent back to that vendor only.

The rooms above and hosts use them, also without a session. They use values, and no session, clock or file.
"""
