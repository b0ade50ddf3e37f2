"""Apps: what a person runs: the command line, and taking over what other tools recorded.

Nobody uses them. They use everything below, and are the only rooms that talk to a terminal.
"""
