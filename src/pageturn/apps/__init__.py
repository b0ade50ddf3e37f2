"""Apps: the programs that people run: the command line, the gateway, the inspector, the MCP server, and the import of other tools' sessions.

No other room uses them. They use everything below, and only they write to a terminal or listen on a port.
"""
