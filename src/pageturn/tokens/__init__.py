"""Tokens: how much of a model's window a text, a message, a picture or a tool takes, and how large that window is.

Policies and the rooms above use it, and a host that brings a counter of its own. It uses values.
"""
