"""The fields of an object: which must be there, which may, and of what type."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.strict.findings import Finds, Found

TEXT, OBJECT, LIST, FLAG = str, dict, list, bool
NUMBER = (int, float)
ANY = object


@dataclass(frozen=True)
class Shape:
    """Types by field name. A field may be null only if it is in `may` and the vendor takes null there."""

    must: Mapping[str, Any] = field(default_factory=dict)
    may: Mapping[str, Any] = field(default_factory=dict)

    def faults(self, value: Mapping[str, Any], path: str, prefix: str = "") -> Finds:
        """Fields that are missing, of another type, or unknown, with codes that begin with `prefix`."""
        for name, type_ in self.must.items():
            if name not in value:
                yield Found(f"{prefix}field_missing", f"{path}.{name}")
            elif not isinstance(value[name], type_):
                yield Found(f"{prefix}field_type", f"{path}.{name}")
        for name, type_ in self.may.items():
            if value.get(name) is not None and not isinstance(value[name], type_):
                yield Found(f"{prefix}field_type", f"{path}.{name}")
        for name in value.keys() - self.must.keys() - self.may.keys():
            yield Found(f"{prefix}extra_field", f"{path}.{name}")


def listed(value: Any) -> list[Any]:
    """The list, or nothing where there is none."""
    return value if isinstance(value, list) else []


def word(value: Any) -> str | None:
    """The string, or nothing where there is none: what is looked up must be one."""
    return value if isinstance(value, str) else None


def objects(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list with their paths; what is no object is another rule's business."""
    for index, each in enumerate(listed(value)):
        if isinstance(each, dict):
            yield f"{path}[{index}]", each


def canonical(value: Any) -> str:
    """Equal for equal JSON, whatever the order of the fields."""
    return json.dumps(value, sort_keys=True, default=repr)


def fits(pattern: str, value: Any) -> bool:
    """Whether this is a string that the pattern matches whole."""
    return isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None


def decoded(data: Any) -> bytes | None:
    """The bytes behind base64, or None if it is none."""
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) and data else None
    except (binascii.Error, ValueError):
        return None


_MAGIC = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "application/pdf": b"%PDF",
}


def looks_like(data: bytes) -> str | None:
    """The media type that the first bytes tell, where they tell one."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for mime_type, magic in _MAGIC.items() if data.startswith(magic)), None)


def is_json_object(text: Any) -> bool:
    """Whether a string holds a JSON object."""
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
