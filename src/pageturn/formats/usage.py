"""Reads token usage from formats that name the same counts differently."""

from typing import NamedTuple

from pageturn.formats.fields import Fields
from pageturn.values.usage import Usage


class Counts(NamedTuple):
    """The names of the counts in a usage whose input leaves out the cached tokens."""

    input: str
    output: str
    cache_read: str
    cache_write: str


def usage_of(response: Fields, vendor: str, *, asked: str, answered: str) -> Usage | None:
    """The usage in a response of OpenAI's, in fields of these names; None if it has none."""
    if "usage" not in response.rest:
        return None
    usage = response.inner("usage")
    details = usage.inner(f"{asked}_details")
    kept = {f"{asked}_details": details.rest}
    return Usage(
        input_tokens=usage.count(asked),
        output_tokens=usage.count(answered),
        cache_read_tokens=details.count("cached_tokens"),
        cache_write_tokens=details.count("cache_write_tokens"),
        model=response.take("model", str),
        extra=usage.kept(vendor, **(kept if details.rest else {})),
    )


def usage_with_cache_apart(response: Fields, counts: Counts, vendor: str | None = None) -> Usage | None:
    """The usage in a response whose input leaves out the cached tokens; None if it has none. With a vendor, other counts are kept."""
    if "usage" not in response.rest:
        return None
    usage = response.inner("usage")
    read, written = usage.count(counts.cache_read), usage.count(counts.cache_write)
    return Usage(
        input_tokens=usage.count(counts.input) + read + written,
        output_tokens=usage.count(counts.output),
        cache_read_tokens=read,
        cache_write_tokens=written,
        model=response.take("model", str),
        extra=usage.kept(vendor) if vendor is not None else None,
    )
