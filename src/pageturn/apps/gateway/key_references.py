"""Reads keys of upstreams from where a reference says: a variable of the environment, or a file. The configuration never holds one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

from pageturn.values.errors import InvalidInput

_ENVIRONMENT, _FILE = "env:", "file:"
_MOST_BYTES = 64 * 1024
EXPECTED = '"env:VARIABLE" or "file:/path"'


class Secret(NamedTuple):
    """Where a key is."""

    reference: str

    @classmethod
    def at(cls, reference: object, place: str) -> Self:
        """A reference, if it is one. What is none may be a key, so it is not shown."""
        text = reference if isinstance(reference, str) else ""
        if not any(text.startswith(kind) and text != kind for kind in (_ENVIRONMENT, _FILE)):
            raise InvalidInput(place, expected=f"where the key is, {EXPECTED}", got="something else")
        return cls(text)

    def read(self, environ: Mapping[str, str] = os.environ) -> str:
        """The key as it is now, so that a file may be replaced; raises `InvalidInput` where there is none."""
        kind, _, name = self.reference.partition(":")
        if f"{kind}:" == _ENVIRONMENT:
            found = environ.get(name, "").strip()
        else:
            try:
                found = Path(name).expanduser().read_bytes()[:_MOST_BYTES].decode().strip()
            except (OSError, UnicodeError) as error:
                raise InvalidInput(self.reference, expected="a file with a key", got=type(error).__name__) from error
        if not found or not found.isprintable() or not found.isascii():
            got = "text that is no key" if found else "nothing"
            raise InvalidInput(self.reference, expected="a key in one line", got=got)
        return found
