"""Streams: the events of each vendor's stream, put together to the response that they come to.

One file for each vendor, below its format: a format reads the response as a message and offers both as its `Stream`.
"""
