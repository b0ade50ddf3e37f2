"""Ids as people type them: the beginning is enough, if only one id begins so."""

from collections.abc import Iterable

from pageturn.values.errors import InvalidInput, show

_NAMED = 5  # ids in one message


def one_of(what: str, typed: str, known: Iterable[str], *, expected: str) -> str:
    """The id that was typed, or the only one that begins so; raises with the candidates if there are several."""
    ids = list(dict.fromkeys(known))
    if typed in ids:
        return typed
    found = [each for each in ids if typed and each.startswith(typed)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(what, expected=f"the beginning of one id only ({named(found)})", got=show(typed))
    raise InvalidInput(what, expected=expected, got=show(typed))


def named(ids: list[str]) -> str:
    """The first few ids, and how many more there are."""
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return (", ".join(ids[:_NAMED]) or "none") + more
