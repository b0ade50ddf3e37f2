"""Outlines JSON: lists of equal objects become tables, repetitions are shown once, exceptions stay."""

from typing import Any

import msgspec

from pageturn.context.renditions.compressed import unknown
from pageturn.context.renditions.contract import Line, Material

_TABLE_ROWS = 3  # objects with the same fields that make a table
_SHOWN = 160  # characters of a value
_DEEPEST = 12
_WRONG = ("error", "errors", "exception", "failed", "failure", "message", "status", "reason")


def outline(material: Material) -> list[Line]:
    """The value, one field or row per line."""
    try:
        value = msgspec.json.decode(material.text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return unknown.outline(material)
    lines: list[Line] = []
    _tell(value, "", 0, lines)
    return lines


def _tell(value: Any, name: str, depth: int, lines: list[Line]) -> None:
    weight = 2.0 / (1 + depth) + (2.0 if name.lower() in _WRONG and value not in (None, "", [], {}) else 0.0)
    lead = "  " * depth + (f"{name}: " if name else "")
    match value:
        case dict() if value and depth < _DEEPEST:
            if name:
                lines.append(Line(lead.rstrip(), weight))
            for inner, each in value.items():
                _tell(each, str(inner), depth + (1 if name else 0), lines)
        case [dict() as first, *_] if len(value) >= _TABLE_ROWS and _is_table(value, first):
            _tell_table(value, list(first), lead, lines)
        case [_, *_] if depth < _DEEPEST and any(isinstance(each, dict | list) for each in value):
            lines.append(Line(f"{lead}[{len(value)}]", weight))
            for each in value:
                _tell(each, "-", depth + 1, lines)
        case _:
            lines.append(Line(lead + _shown(value), weight))


def _is_table(rows: list[Any], first: dict[str, Any]) -> bool:
    fields = first.keys()
    alike = sum(1 for row in rows if isinstance(row, dict) and row.keys() == fields)
    flat = all(not isinstance(each, dict | list) for each in first.values())
    return alike == len(rows) and flat


def _tell_table(rows: list[dict[str, Any]], fields: list[str], lead: str, lines: list[Line]) -> None:
    """Constant fields once, the others as columns; the first and last rows and those with errors have the greatest weight."""
    first = {name: (type(rows[0][name]), rows[0][name]) for name in fields}
    fixed = {name: rows[0][name] for name in fields if all((type(row[name]), row[name]) == first[name] for row in rows)}
    columns = [name for name in fields if name not in fixed]
    always = "".join(f", {name}={_shown(value)}" for name, value in fixed.items())
    lines.append(Line(f"{lead}[{len(rows)} rows{always}] {' | '.join(columns)}", 3.0))
    for at, row in enumerate(rows if columns else ()):
        is_end = at < _TABLE_ROWS or at == len(rows) - 1
        is_wrong = any(name.lower() in ("error", "exception") and row[name] for name in columns)
        text = " | ".join(_shown(row[name]) for name in columns)
        lines.append(Line(f"  {text}", 2.0 if is_end or is_wrong else 0.6))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [... {len(text) - _SHOWN} characters ...]"
