"""What holds for which model. A model that is not known here is taken for the strictest, the newest."""

import re

NEWEST = "claude-opus-5-5"

_FAMILY = re.compile(r"claude-(?P<name>[a-z]+)-(?P<major>\d+)(?:-(?P<minor>\d{1,2}))?(?![\d])")
_OLD_STYLE = re.compile(r"claude-(?P<major>[1-3])(?:[-.](?P<minor>\d{1,2}))?(?![\d])")


def _version(model: str) -> tuple[str, tuple[int, int]]:
    found = _FAMILY.search(model)
    if found is None and (found := _OLD_STYLE.search(model)) is None:
        return "opus", (99, 0)
    return found.groupdict().get("name") or "old", (int(found["major"]), int(found["minor"] or 0))


def checks_prefixes(model: str) -> bool:
    """Whether a block of thinking is bound to what stands before it: Fable and Mythos from 5.1, the others from 5.5."""
    name, version = _version(model)
    return version >= ((5, 1) if name in ("fable", "mythos") else (5, 5))


def takes_system_messages(model: str) -> bool:
    """Whether messages may have the role system: Fable and Mythos 5, Opus from 4.8, Sonnet and Haiku from 5.5."""
    name, version = _version(model)
    first = {"fable": (5, 0), "mythos": (5, 0), "opus": (4, 8)}
    return version >= first.get(name, (5, 5))


def takes_prefill(model: str) -> bool:
    """Whether a last assistant message is continued: models before 4.6."""
    return _version(model)[1] < (4, 6)
