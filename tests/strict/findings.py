"""What a reader finds: where a request breaks which rule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Problem:
    """A rule that a request breaks: a code that does not change, where (a JSON path), and a plain sentence."""

    code: str
    path: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}: {self.sentence} [{self.code}]"


class Found(NamedTuple):
    """What a rule yields; `detail` says what the code's own sentence cannot know."""

    code: str
    path: str
    detail: str = ""


Finds = Iterator[Found]


def told(found: Iterable[Found], codes: Mapping[str, str]) -> list[Problem]:
    """Each finding once, with its sentence. A code that is not registered is a fault of the reader."""
    return [
        Problem(code, path, f"{codes[code]} {detail}".rstrip())
        for code, path, detail in dict.fromkeys(map(tuple, found))
    ]


Requests = Sequence[Mapping[str, Any]]
"""Earlier requests of the same conversation, oldest first."""
