"""Content: what a text is, seen from the tool that brought it and from the text itself."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from pageturn.messages import ToolCall
from pageturn.renditions.contract import ContentType, Material
from pageturn.renditions.scanning import without_middle

_SAMPLE_LINES = 60
_MOST = 0.6  # the share of sampled lines that decides
_NUMBERED = re.compile(r"[ \t]*\d+[→\t|:]")
_PATH_FIELDS = ("file_path", "path", "filename", "file", "notebook_path", "uri", "url")
_FILE = re.compile(r"[\w./~@-]*[\w-]\.(\w{1,6})\b")
_CODE_ENDINGS = frozenset(
    "py pyi js jsx mjs cjs ts tsx mts cts go rs java kt c h cc cpp hpp cs rb php swift scala sh bash zsh sql lua ex vue"
    " svelte css scss toml ini cfg".split()
)
_TEXT_ENDINGS = frozenset("md mdx rst txt html htm xml adoc".split())
_SEARCHED = re.compile(r"[\w./@~-]++(?<=\w)[:\-]\d+[:\-]|[\w./@~-]*\.\w{1,8}:(?!:)")
_LISTED = re.compile(r"[dl-][rwxs-]{9}|\S*[/.]\S*$|[│├└ ]*[├└]")
_LOGGED = re.compile(
    r"\s*(?:=== |--- (?:PASS|FAIL)|PASS|FAIL|ok\s|ERROR|WARN|INFO|DEBUG|\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\s*at |Traceback|npm |.*\b(?:PASSED|FAILED|SKIPPED)\b)"
)
_DRAWN_OVER = re.compile(r"[^\r\n]*+\r(?!\n)")  # what a progress bar showed before its last state
_BLANKS = re.compile(r"\n{3,}+")
_DIFFED = re.compile(r"diff --git |@@ |\+\+\+ |--- a/")
_MARKED = re.compile(r"\s*(?:#{1,6} |[-*] |\d+\. |```|\||<\w|<!)")


def material_of(text: str, call: ToolCall | None = None) -> Material:
    """A text with what can be said about it; the call is the one that brought it."""
    arguments = call.parsed if call is not None else None
    path = _path_in(arguments)
    text = without_middle(text)
    if "\r" in text:
        text = _DRAWN_OVER.sub("", text)
    if "\n\n\n" in text:
        text = _BLANKS.sub("\n\n", text)
    return Material(text, _type_of(text, path), call.name if call is not None else "", arguments, path)


def _path_in(arguments: Any) -> str | None:
    """The file that a call is about: a field of that name, or the last file that a command names."""
    if not isinstance(arguments, Mapping):
        return None
    for name in _PATH_FIELDS:
        if isinstance(arguments.get(name), str):
            return str(arguments[name])
    command = arguments.get("command")
    words = " ".join(map(str, command)) if isinstance(command, list) else command
    files = [found[0] for found in _FILE.finditer(words)] if isinstance(words, str) and len(words) < 4_000 else []
    return files[-1] if files else None


def _type_of(text: str, path: str | None) -> ContentType:
    start = text.lstrip()[:2]
    if start[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]") and start not in ("[i", "[I", "[E", "[W"):
        return ContentType.JSON
    lines = [line for line in text[:20_000].splitlines() if line.strip()][:_SAMPLE_LINES]
    if any(_DIFFED.match(line) for line in lines[:10]):
        return ContentType.DIFF
    if _share(_NUMBERED, lines) >= _MOST:
        return _by_ending(path) or ContentType.CODE
    if _share(_SEARCHED, lines) >= _MOST:
        return ContentType.SEARCH
    if _share(_LOGGED, lines) >= _MOST / 3:
        return ContentType.LOG
    if (by_ending := _by_ending(path)) is not None:
        return by_ending
    if _share(_LISTED, lines) >= _MOST:
        return ContentType.LISTING
    if _share(_MARKED, lines) >= _MOST / 2:
        return ContentType.MARKUP
    return ContentType.PROSE if _is_prose(lines) else ContentType.UNKNOWN


def _by_ending(path: str | None) -> ContentType | None:
    ending = PurePosixPath(path).suffix[1:].lower() if path else ""
    if ending in _CODE_ENDINGS:
        return ContentType.CODE
    return ContentType.MARKUP if ending in _TEXT_ENDINGS else None


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(1 for line in lines if pattern.match(line)) / len(lines) if lines else 0.0


def _is_prose(lines: list[str]) -> bool:
    words = [word for line in lines for word in line.split()]
    return bool(words) and sum(word.strip(".,;:!?()'\"").isalpha() for word in words) / len(words) > _MOST
