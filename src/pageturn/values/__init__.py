"""Values: what passes between rooms, frozen: messages, pages, prompts, contexts, entries, faults, errors.

Everybody may use them, hosts too. They use nothing else of ours, and read no clock, chance, environment or file.
"""
