"""Routing of model calls: names that clients use stand for candidates, of which one is chosen, and others where it fails.

`settings` reads what the file says, `requests` reads a request, `chooser` asks the router, `attempt` asks an upstream, and `routed` joins
them for the proxy.
"""
