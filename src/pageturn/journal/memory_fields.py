"""Computes the value of a memory field from the writes of writeback."""

from collections.abc import Callable
from typing import Any

from pageturn.journal.state import Field
from pageturn.values.proposals import Op


def field_value(field: Field, value: Callable[[str], Any]) -> Any:
    """The value of a field after its writes; `value` reads one of them."""
    result: Any = None
    for write in field.writes:
        written = value(write.value)
        match write.op:
            case Op.APPEND:
                result = [*(result or ()), written]
            case Op.MERGE:
                result = {**(result or {}), **written}
            case Op.SET_WITH_VERSION:
                result = written
    return result
