"""Assembles the events of each vendor's stream into the response that they add up to.

There is one file for each vendor, below its format; the format reads the response as a message and offers both as its `Stream`.
"""
