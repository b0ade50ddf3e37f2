"""Context: turns a journal's state into the prompt of the next call: fold, laws, renditions, pairing, notes.

The session uses it to derive, and writeback and recall use it for renditions. It uses the journal and below; it writes nothing, calls no model,
and reads no clock.
"""
