"""A transcript: the steps of a story, each taken from a page of the documentation, and what each printed.

== docs/quickstart.md                        the page that is followed from here on
[OpenAI, chat completions] > loop.py         its first Python block under that heading, saved as a file
$ python loop.py                             a command of the page; below it stands what it printed
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.walkthrough.newcomer import Newcomer
from tools.examples import ROOT, blocks

_SAVED = re.compile(r"\[(?P<heading>.+)\] > (?P<file>\S+)")


@dataclass
class Guide:
    """A page that is followed from its beginning to its end."""

    page: Path
    _place: int = 0

    def command(self, command: str) -> None:
        """Go on to this command, which must stand below what was followed so far."""
        found = re.compile(rf"(?<![\w-]){re.escape(command)}(?![\w./-]| -)").search(
            self.page.read_text("utf-8"), self._place
        )
        assert found, f"{self.page.name} does not give this command after the one before: {command}"
        self._place = found.end()

    def block(self, heading: str) -> str:
        """The first Python block under a heading, which must stand below what was followed so far."""
        text = self.page.read_text("utf-8")
        under = re.compile(rf"^#+ {re.escape(heading)}$", re.MULTILINE).search(text)
        assert under, f"{self.page.name} has no heading {heading!r}"
        line = text[: under.end()].count("\n")
        example = next(each for each in blocks(self.page) if each.line > line)
        place = sum(map(len, text.splitlines(keepends=True)[: example.line]))
        assert place >= self._place, f"{heading!r} stands above what was followed so far"
        self._place = place
        return dedent(example.code).lstrip("\n")


def replayed(transcript: str, newcomer: Newcomer) -> str:
    """The same steps, with what they print now."""
    return "\n".join(_lines(transcript, newcomer)) + "\n"


def _lines(transcript: str, newcomer: Newcomer) -> Iterator[str]:
    guides: dict[str, Guide] = {}
    guide: Guide | None = None
    for line in transcript.splitlines():
        if line.startswith("== "):
            guide = guides.setdefault(line[3:], Guide(ROOT / line[3:]))
            yield from ("", line)
        elif guide is None:
            if line:  # what the story is about
                yield line
        elif saved := _SAVED.fullmatch(line):
            newcomer.save(saved["file"], guide.block(saved["heading"]))
            yield line
        elif line.startswith("$ "):
            guide.command(line[2:])
            yield line
            yield from (f"  {printed}".rstrip() for printed in newcomer.run(line[2:]))
