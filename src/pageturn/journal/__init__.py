"""Journal: facts, written down once and for ever, the state that they add up to, a reader of both, and the doctor.

The context room, writeback, recall and the session use it, and whoever only reads does so by `SessionReader`. It uses stores, tokens,
policies and values.
"""
