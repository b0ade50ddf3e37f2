"""Writes the parts of messages as blocks of each vendor's JSON; the format of the vendor puts the blocks together to a request."""
