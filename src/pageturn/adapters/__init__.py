"""Adapters: agent frameworks, each in its own terms: a file for each, which needs the extra of its name.

Hosts use them, and apps may; they use the session and below. `branches` is what they share: sessions that follow a framework's history.
"""
