"""The demo: a generated session of a coding agent through the real gateway, and the same tables for a session of the user's own.

`play` lets an `agent` talk to a gateway in a process of its own (`gateway`), behind which a scripted `model` answers through a strict
`provider`. `own_session` replays a recorded session instead. Of both come `turns` and a store, which `table` and `picture` measure.
"""
