"""Writeback: the only way in for text that a model wrote: proposals, the checks on them, and summaries.

The session uses it, and a host may bring a summarizer. It uses the context room and below, and never recall.
"""
