"""Formats: the JSON of each vendor as messages, and messages as that JSON.

Every module has `load`, `dump` and `Stream`. What a vendor says beyond what a message has is kept in `extra` under the name of the
format, so that it goes back to that vendor and to nobody else.
"""
