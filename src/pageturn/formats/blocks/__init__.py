"""Writes the parts of messages as blocks of each vendor's JSON; the format of the vendor assembles the blocks into a request."""
