"""Routing of model calls: a name that clients use means several candidates, of which one is chosen, and others if it fails.

`settings` reads what the file says, `requests` reads a request, `chooser` asks the router, `attempt` asks an upstream, and `routed` joins
them for the proxy.
"""
