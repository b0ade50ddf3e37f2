"""Assembles the events of each vendor's stream into the response that they add up to.

There is one file per vendor; its format reads the assembled response as a message and offers both as its `Stream`.
"""
