"""Tokens: counts the tokens of texts, messages, images and tools for each model, and knows the context windows.

Policies and the rooms above use it, and a host may bring its own counter. It uses values.
"""
