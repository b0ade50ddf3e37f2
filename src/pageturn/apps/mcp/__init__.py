"""The MCP server: lets a client that keeps its own context look into the sessions of one scope of a store.

`server` speaks the protocol, over stdio or HTTP. `tools` and `resources` define what can be asked, `answers` the form of the answers,
and `sessions` what is reachable. Everything only reads, except `proposing`, which writes proposals that wait for a person. `install`
adds the server to a client's settings file.
"""
