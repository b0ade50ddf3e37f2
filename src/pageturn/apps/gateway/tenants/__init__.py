"""Keys that the gateway issues, so that several people share it, each with a scope, a budget and limits of their own.

`keys` are what is issued, `spending` and `rates` what they have used; `gate` asks requests for their keys, `admission` decides on
each, `keyed` gives it the provider's key, `accounting` charges what it took, and `separated` keeps the sessions and the routing of each
scope apart. Whatever fails here, fails closed.
"""
