"""Extracts what a message is about from its text, and the bucket of work that routing learns in.

Purely syntactic: no model and no I/O, cheap enough for every append. It is conservative on purpose: a false path or error
costs more, in a posterior or a score, than a missed one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from pageturn.values.checks import require_member
from pageturn.values.json import Closed
from pageturn.values.messages import Message, Text, ToolCall, ToolResult

T = TypeVar("T")

BUCKET_MESSAGES = 8  # messages that decide the bucket of a step


class Difficulty(StrEnum):
    """How much has gone wrong."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Dependency(StrEnum):
    """Whether the work reaches across files."""

    ISOLATED = "isolated"
    CHAINED = "chained"


class ToolUse(StrEnum):
    """Whether tools were called."""

    NO = "no"
    YES = "yes"


class Bucket(Closed):
    """The context in which an agent is judged."""

    difficulty: Difficulty
    dependency: Dependency
    tool_use: ToolUse

    def __post_init__(self) -> None:
        for name, type_ in (("difficulty", Difficulty), ("dependency", Dependency), ("tool_use", ToolUse)):
            require_member(f"$.{name}", getattr(self, name), type_)


class RelevanceMeta(Closed):
    """The syntactic signals of one message, or of several merged."""

    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    error_classes: tuple[str, ...] = ()
    explicit_refs: tuple[int, ...] = ()  # the turns that are mentioned by number

    def project_bucket(self) -> Bucket:
        """The bucket: errors make it hard, files make it chained, calls make it tool use."""
        errors = len(self.error_classes)
        chained = len(self.files) >= 2 or any("/" in file for file in self.files)
        return Bucket(
            difficulty=Difficulty.EASY if errors == 0 else Difficulty.MEDIUM if errors <= 2 else Difficulty.HARD,
            dependency=Dependency.CHAINED if chained else Dependency.ISOLATED,
            tool_use=ToolUse.YES if self.tools else ToolUse.NO,
        )


NOTHING = RelevanceMeta()


def extract(message: Message) -> RelevanceMeta:
    """The signals of one message. Of a very long text only the beginning and the end are read, and the number of each kind is limited."""
    files: list[str] = []
    tools: list[str] = []
    errors: list[str] = []
    refs: list[int] = []
    for part in message.content:
        if isinstance(part, Text):
            text = _ends_of(part.text, _READ)
            lowered = text.lower()
            files += _paths(text)
            errors += _error_classes(lowered)
            if ("turn" in lowered or "message" in lowered) and _MAY_REFER.search(lowered):
                refs += _references(text)
        elif isinstance(part, ToolCall):
            tools.append(part.name)
            for line in _argument_lines(part):
                files += _paths(line)
        elif isinstance(part, ToolResult):
            for inner in part.parts:
                if isinstance(inner, Text):
                    errors += _error_classes(_ends_of(inner.text, _SEARCHED).lower())
    if not (files or tools or errors or refs):
        return NOTHING
    return RelevanceMeta(_unique(files)[:_MOST], _unique(tools)[:_MOST], _unique(errors)[:_MOST], _unique(refs)[:_MOST])


def merge(metas: Iterable[RelevanceMeta]) -> RelevanceMeta:
    """The signals of several messages as one."""
    whole = tuple(metas)
    return RelevanceMeta(
        _unique(file for meta in whole for file in meta.files),
        _unique(tool for meta in whole for tool in meta.tools),
        _unique(error for meta in whole for error in meta.error_classes),
        _unique(ref for meta in whole for ref in meta.explicit_refs),
    )


def bucket_for_messages(messages: Sequence[Message]) -> Bucket:
    """The bucket of the newest messages."""
    return merge(map(extract, messages[-BUCKET_MESSAGES:])).project_bucket()


def _unique(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


_MOST = 64  # files, tools or references per message
_READ = 32_000  # characters of a text that are searched for files and references
_SEARCHED = 256_000  # and for errors


def _ends_of(text: str, most: int) -> str:
    """A text; if it is long, its beginning and end without the words that the cut split."""
    if len(text) <= most:
        return text
    first, last = text[: most // 2].rsplit(None, 1), text[-most // 2 :].split(None, 1)
    return " ".join((*first[:1], *last[-1:]))


_SEPARATORS = str.maketrans(dict.fromkeys(",;()`=", " "))
_OPENING = "\"':[]{}<>*!?|"
_CLOSING = _OPENING + "."
# As in a.py:12, a.py:12:5, a.py#L12, a.py::test.
_SUFFIX = re.compile(r"(?::\d+(?:-\d+)?(?::\d+)?|#L\d+(?:-L?\d+)?|::.*|'s)$")
_SEGMENT = r"[\w.@+~-]+"
_PATH = re.compile(rf"(?:~?/|\.{{1,2}}/)?{_SEGMENT}(?:/{_SEGMENT})*/?|[A-Za-z]:\\[\w.\\-]+")
_HAS_LETTER = re.compile(r"[^\W\d_]")
_EXTENSION = re.compile(r"[\w-]{2,}\.[A-Za-z]\w{0,7}$")
_UNLIKE_A_WORD = re.compile(r"[_.-]|[^\W\d_]\d|\d[^\W\d_]")
_LONGEST = 400
_SOURCE_EXTENSIONS = tuple(
    ".rs .ts .tsx .js .jsx .py .go .md .json .toml .yaml .yml .html .css .c .cpp .h .hpp".split()
)
# The word before the first slash that makes a path of two plain words ("src/auth", not "and/or").
_ROOTS = frozenset(
    "src lib app apps bin cmd pkg packages crates test tests spec docs etc usr var opt tmp home out dist build target"
    " media static public assets scripts examples include internal vendor config".split()
)


def _paths(text: str) -> Iterator[str]:
    if "/" not in text and "." not in text:
        return
    for token in dict.fromkeys(text.translate(_SEPARATORS).split()):
        if ("/" not in token and "." not in token) or "://" in token or "</" in token:
            continue
        path = _SUFFIX.sub("", token.lstrip(_OPENING).rstrip(_CLOSING))
        if _is_path(path):
            yield path.removesuffix("/")


def _is_path(path: str) -> bool:
    """Whether a token names a file: by its extension, or by a slash that is not a date, a fraction or an alternative."""
    if not 3 <= len(path) <= _LONGEST or not _PATH.fullmatch(path):
        return False
    if path.endswith(_SOURCE_EXTENSIONS):
        return True
    if "/" not in path or len(path) <= 3 or not _HAS_LETTER.search(path):
        return False
    if path.startswith(("/", "./", "../", "~/")) or _EXTENSION.search(path):
        return True
    first, *rest = path.strip("/").split("/")
    return first in _ROOTS or (len(rest) >= 2 and any(map(_UNLIKE_A_WORD.search, (first, *rest))))


_REFERENCE = re.compile(
    r"\b(?<!error )(?:turn|message)s?\s+#?(\d{1,7})(?:\s*(?:-|to|and)\s*#?(\d{1,7}))?\b(?!\s*(?:degrees|°))",
    re.IGNORECASE,
)


_MAY_REFER = re.compile(r"(?:turn|message)[s\u017f]?\s+#?\d")  # of lower-cased text, which takes a tenth of the time


def _references(text: str) -> Iterator[int]:
    """The turns or messages that a text mentions by number; for a range, its two ends."""
    for found in _REFERENCE.finditer(text):
        yield from (int(number) for number in found.groups() if number)


_ERROR_MARKERS = ("error:", "error[e", "failed", "panicked", "traceback", "stack trace")


def _error_classes(lowered: str) -> list[str]:
    return [marker.rstrip(":") for marker in _ERROR_MARKERS if marker in lowered]


_ARGUMENT_CHARS = 1_000  # of the first line of each argument; what follows is content, not a target


def _argument_lines(call: ToolCall) -> Iterator[str]:
    """The first line of every text in a call's arguments, or of the raw arguments if they are not JSON."""
    value = call.parsed
    for text in _texts(call.arguments if value is None else value):
        yield text[:_ARGUMENT_CHARS].split("\n", 1)[0]


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
