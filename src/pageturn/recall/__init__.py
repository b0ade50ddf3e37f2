"""Recall: finds pages by their text or their handle, for the host and, through the recall tool, for the model.

The session uses it, and a host may bring a reranker. It uses the context room and below, and never writeback.
"""
