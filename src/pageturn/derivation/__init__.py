"""Derivation: from a journal to the context of the next turn. Plan, enforce, render; write nothing, call no model, read no clock."""
