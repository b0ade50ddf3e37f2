"""The MCP server: lets a client that keeps its own context look into the sessions of one scope of a store.

`server` speaks the protocol, over stdio or HTTP. `tools` and `resources` say what can be asked, `answers` how it is written, and
`sessions` what is reachable. Everything reads, but for `proposing`, which writes proposals that wait for a person. `install` writes
the server into a client's own file of settings.
"""
