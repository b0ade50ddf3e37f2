"""Recall: getting pages back, by what they say or by their handle, and the tool by which a model does so.

The session uses it, and a host that brings a reranker. It uses the context room and below, and never writeback.
"""
