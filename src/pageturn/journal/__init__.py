"""Journal: the append-only facts of a session, the state that they add up to, a read-only reader, and the doctor.

The context room, writeback, recall and the session use it; code that only reads uses `SessionReader`. It uses stores, tokens,
policies and values.
"""
