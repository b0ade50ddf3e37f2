"""Computes the value of a memory field from the writes of writeback."""

from collections.abc import Callable
from typing import Any

from pageturn.journal.state import Field
from pageturn.values.proposals import Op


def field_value(field: Field, value: Callable[[str], Any]) -> Any:
    """The value of a field after its writes; `value` reads one of them, and gives a new object each time."""
    result: Any = None
    for write in field.writes:
        written = value(write.value)
        match write.op:
            case Op.APPEND:
                result = result if type(result) is list else [*(result or ())]
                result.append(written)
            case Op.MERGE:
                result = result if type(result) is dict else {**(result or {})}
                result.update(written)
            case Op.SET_WITH_VERSION:
                result = written
    return result


def field_type(field: Field, value: Callable[[str], Any]) -> type | None:
    """The type of that value, which its last write alone decides; None if nothing was written or is left."""
    if not field.writes:
        return None
    last = field.writes[-1]
    match last.op:
        case Op.APPEND:
            return list
        case Op.MERGE:
            return dict
        case Op.SET_WITH_VERSION:
            written = value(last.value)
            return type(written) if written is not None else None
