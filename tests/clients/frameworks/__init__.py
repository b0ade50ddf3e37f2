"""Agents of other frameworks, each a program of its own: it gets a base URL, reads two files by tools, and prints what the model said."""
