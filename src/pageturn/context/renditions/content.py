"""Detects the content type of a text from the tool that returned it and from the text itself."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

import msgspec

from pageturn.context.renditions.contract import ContentType, Material
from pageturn.context.renditions.scanning import without_middle
from pageturn.values.messages import ToolCall

_SAMPLE_LINES = 60
_SAMPLE_WORDS = 120
_COMMAND = 600  # characters
_NUMBERED = re.compile(r"[ \t]*\d+[→\t|:]")
# What tools call the file that they are about.
FILE_FIELDS = tuple("file_path filePath path absolute_path target_file filename file notebook_path".split())
_PATH_FIELDS = (*FILE_FIELDS, "uri", "url")
_FILE = re.compile(r"[\w./~@-]*[\w-]\.(\w{1,6})\b")
_CODE_ENDINGS = frozenset(
    "py pyi js jsx mjs cjs ts tsx mts cts go rs java kt c h cc cpp hpp cs rb php swift scala sh bash zsh sql lua ex vue"
    " svelte css scss toml ini cfg yaml yml".split()
)
_TEXT_ENDINGS = frozenset("md mdx rst txt html htm xml adoc".split())
_SEARCHED = re.compile(r"[\w./@~-]++(?<=\w)[:\-]\d+[:\-]|[\w./@~-]*\.\w{1,8}:(?!:)")
_LISTED = re.compile(r"[dl-][rwxs-]{9}|[^\s/.]*+[/.]\S*+$|[│├└ ]*[├└]")
_LOGGED = re.compile(
    r"\s*+(?:={3,} |_{3,} |--- (?:PASS|FAIL)|PASS|FAIL|ok\s|ERROR|WARN|INFO|DEBUG|\[?\d{4}-\d\d-\d\d|at |Traceback|npm |E   |test "
    r"|(?:error|warning)(?:\[|:)|\S*+ ?(?:PASSED|FAILED|SKIPPED)\b)"
)
_COLOURED = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TIMED = re.compile(r"\s*+\W{0,2}(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d\b")
_COMPLAINED = re.compile(r"[^\s:]+:\d+(?::\d+)?: (?:error|warning|note|fatal)")
_KEYED = re.compile(r"\s*+(?:- )?[\w.\"'-]+:(?:\s|$)")
_READS = re.compile(r"(?:^|&&|;|\|)\s*(?:cat|sed|head|tail|nl|bat|less|awk)\b")
_BLANKS = re.compile(r"\n{3,}+")
_OBJECT = re.compile(r'\{"')
_DIFFED = re.compile(r"diff --git |@@ |\+\+\+ |--- a/")
_MARKED = re.compile(r"\s*(?:#{1,6} |[-*] |\d+\. |```|\||<\w|<!)")


# How a line begins, the share of lines that must begin so, and the resulting type; the first match decides.
_SURE = (
    (_TIMED.match, 0.3, ContentType.LOG),
    (_COMPLAINED.match, 0.3, ContentType.LOG),
    (_OBJECT.match, 0.5, ContentType.LOG),
    (_SEARCHED.match, 0.6, ContentType.SEARCH),
    (_LOGGED.match, 0.2, ContentType.LOG),
)
_LIKELY = (
    (_NUMBERED.match, 0.6, ContentType.CODE),
    (_LISTED.match, 0.6, ContentType.LISTING),
    (_KEYED.match, 0.6, ContentType.CODE),
    (_MARKED.match, 0.3, ContentType.MARKUP),
)


def material_of(text: str, call: ToolCall | None = None) -> Material:
    """A text with its metadata; `call` is the call that returned it."""
    arguments = call.parsed if call is not None else None
    path = _path_in(arguments)
    text = without_middle(text)
    if "\x1b" in text:
        text = _COLOURED.sub("", text)
    if "\r" in text:
        text = _last_drawn(text) if "\n" in text else text.replace("\r", "\n")
    if "\n\n\n" in text:
        text = _BLANKS.sub("\n\n", text)
    return Material(
        text,
        _type_of(text, path, is_output=_is_command(arguments)),
        call.name if call is not None else "",
        arguments,
        path,
    )


def file_of(call: ToolCall) -> str | None:
    """The file that a call is about."""
    return _path_in(call.parsed)


def _last_drawn(text: str) -> str:
    """A text without what a progress bar overwrote, and without carriage returns."""
    pieces = text.split("\r")
    kept = [
        piece[: piece.rfind("\n") + 1] if after and after[0] != "\n" else piece for piece, after in pairwise(pieces)
    ]
    return "".join([*kept, pieces[-1]])


def _is_command(arguments: Any) -> bool:
    return isinstance(arguments, Mapping) and ("command" in arguments or "cmd" in arguments)


def _path_in(arguments: Any) -> str | None:
    """The file that a call is about: a field of that name, or the last file of a command that prints files."""
    if not isinstance(arguments, Mapping):
        return None
    for name in _PATH_FIELDS:
        if isinstance(arguments.get(name), str):
            return str(arguments[name])
    command = arguments.get("command", arguments.get("cmd"))
    words = " ".join(map(str, command)) if isinstance(command, list) else command
    if not isinstance(words, str) or not _READS.search(words[:_COMMAND]):
        return None  # a program's output is not the file that it was given
    files = [found[0] for found in _FILE.finditer(words[:_COMMAND])]
    return files[-1] if files else None


def _type_of(text: str, path: str | None, *, is_output: bool) -> ContentType:
    """The type of a text: by its beginning, by the look of most of its lines, and by the file that it shows."""
    if _is_json(text):
        return ContentType.JSON
    lines = [line for line in text[:20_000].splitlines() if line.strip()][:_SAMPLE_LINES]
    if any(_DIFFED.match(line) for line in lines[:10]):
        return ContentType.DIFF
    if (by_looks := _by_looks(lines, _SURE)) is not None:
        return by_looks
    if (by_ending := _by_ending(path)) is not None:
        return by_ending
    if (by_looks := _by_looks(lines, _LIKELY)) is not None:
        return by_looks
    if is_output and lines:
        return ContentType.LOG  # any program's output may report an error
    return ContentType.PROSE if _is_prose(lines) else ContentType.UNKNOWN


def _by_looks(
    lines: list[str], looks: Sequence[tuple[Callable[[str], re.Match[str] | None], float, ContentType]]
) -> ContentType | None:
    for begins_so, least, type_ in looks:
        if lines and len([line for line in lines if begins_so(line)]) >= least * len(lines):
            return type_
    return None


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _by_ending(path: str | None) -> ContentType | None:
    ending = PurePosixPath(path).suffix[1:].lower() if path else ""
    if ending in _CODE_ENDINGS:
        return ContentType.CODE
    return ContentType.MARKUP if ending in _TEXT_ENDINGS else None


def _is_prose(lines: list[str]) -> bool:
    words = " ".join(lines).split(None, _SAMPLE_WORDS)[:_SAMPLE_WORDS]
    plain = sum([word.isalpha() or word.strip(".,;:!?()'\"").isalpha() for word in words])
    return bool(words) and plain / len(words) > 0.6
