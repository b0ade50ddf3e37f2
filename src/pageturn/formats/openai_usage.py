"""Reads token usage from OpenAI's two formats, which name the same counts differently."""

from pageturn.formats.fields import Fields
from pageturn.values.usage import Usage


def usage_of(response: Fields, vendor: str, *, asked: str, answered: str) -> Usage | None:
    """The usage in a response, in fields of these names; None if it has none."""
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
