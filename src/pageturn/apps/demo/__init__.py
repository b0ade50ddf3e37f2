"""The demo: a generated session of a coding agent through the real gateway, and the same tables for a session of the user's own.

`play` is the agent. It talks to a gateway in a process of its own (`gateway`), behind which a scripted `model` answers as a strict
`provider`. `own_session` plays a recorded session instead. Both end as a `Played`, which `table` and `picture` show.
"""
