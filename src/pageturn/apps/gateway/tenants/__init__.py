"""Keys that the gateway issues, so that several people share it, each with a scope, a budget and limits of their own.

`keys` are what is given out, `spending` is what was spent, `admission` decides on each request, `accounting` charges what it took, and
`separated` keeps the sessions and the routing of each scope apart. Whatever fails here, fails closed.
"""
