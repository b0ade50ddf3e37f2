"""Finds results that a recorded session fetched again; the same for every method that is compared.

They are counted as a session counts them. None is a fault while its bytes are in the request in full, nor if calls of one turn fetched it
twice.
"""

from pageturn.context.repeats import Repeat, Repeats
from pageturn.journal.references import calls_of, results_of
from pageturn.lab.traces import Trace, estimated_tokens


def repeated(trace: Trace) -> dict[int, list[Repeat]]:
    """What the calls of each turn fetched again, by the place of the turn."""
    repeats = Repeats()
    found: dict[int, list[Repeat]] = {}
    for place, message in enumerate(trace.messages):
        results = results_of(message)
        for again in repeats.take(place, calls_of(message), results, estimated_tokens(message) if results else 0):
            if again.before < again.asked:
                found.setdefault(again.asked, []).append(again)
    return found
