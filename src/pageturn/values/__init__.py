"""Values: the frozen data that passes between rooms: messages, pages, prompts, contexts, entries, faults, errors.

Every room and every host may use them. They use nothing else of ours, and read no clock, random source, environment or file.
"""
