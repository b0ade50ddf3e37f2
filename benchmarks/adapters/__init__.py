"""Agents of frameworks, with the framework's own way of managing the context and with ours, side by side."""
