"""The inspector: a read-only web page over a store, which shows what a model saw in each turn, why, and what it cost.

`views` are pure functions from a session to values, one for each page and its JSON. `server` sends them, with the files in `assets`.
"""
