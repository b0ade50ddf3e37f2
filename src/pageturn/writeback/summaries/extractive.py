"""Summarizes by extraction from the pages, without a model and deterministically.

What was asked comes first, then what was changed, what failed, what was said, and which calls were made; the remaining room is for
names that are likely to be used again. It uses the same pieces as the structured form of a page.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.context.renditions.compressed import prose
from pageturn.context.renditions.contract import Line, Material
from pageturn.context.renditions.names import choose_names
from pageturn.context.renditions.scanning import without_middle
from pageturn.context.renditions.selection import pick
from pageturn.context.renditions.structured import PageMessage, asked, effects, structured
from pageturn.values.fencing import escaped
from pageturn.values.identifiers import Vocabulary
from pageturn.values.messages import Message, Role
from pageturn.writeback.quality import commands, evidence_of, invented_in, omission_of, shape_of
from pageturn.writeback.summaries.contract import SummaryRequest
from pageturn.writeback.summaries.cutting import cut

_ASKED, _CHANGED, _WRONG, _SAID, _CALLED = 3.0, 2.5, 2.0, 1.6, 1.0  # weights
_LATER = 0.3  # the weight of the last line relative to the first
_GIST = 400  # characters of what somebody said
_NAMES = 0.25  # of the characters
_CHARACTERS = 4  # characters per token; the first guess
_EFFECT = re.compile(r"(?:changed|wrote|patched) [0-9a-f]{8} ")
_DIGITS = re.compile(r"\d+")
_ALIKE = 3  # names that differ only in a number


class Extractive(NamedTuple):
    """The summarizer that needs no model."""

    name: str = "extractive"

    def summarize(self, request: SummaryRequest) -> str:
        """The lines of greatest weight, and names from the rest."""
        messages = [message for _, message in request.pages]
        evidence = evidence_of(messages)
        vocabulary = Vocabulary()
        for message in messages:
            vocabulary.hear(message)
        lowered = evidence.casefold()
        lines = [line for line in _once(_lines(request.pages, vocabulary)) if _may_stand(line.text, lowered)]
        room = request.target_tokens * _CHARACTERS
        text = _assembled(lines, evidence, vocabulary, room)
        room = int(room * min(2.0, request.target_tokens / max(1, request.count(text))))  # the corrected guess
        text = _assembled(lines, evidence, vocabulary, room)
        while room and (tokens := request.count(text)) > request.target_tokens:
            room = int(room * min(0.9, request.target_tokens / tokens))
            text = _assembled(lines, evidence, vocabulary, room)
        if request.count(text) < request.least_tokens:
            text = _beginnings(request, lowered)
        if omission_of(text, messages) is not None:  # there was room for no line with a name, and for no names
            shortest = min(vocabulary.ranked(without_middle(evidence)), key=len)
            text = cut(f"names: {escaped(shortest)}\n{text}", request.target_tokens, request.count)
        return text


def _assembled(lines: Sequence[Line], evidence: str, vocabulary: Vocabulary, room: int) -> str:
    kept = pick(lines, int(room * (1 - _NAMES)))
    names = _varied(choose_names(without_middle(evidence), vocabulary, room - len(kept), shown=kept))
    return kept + ("\nnames: " + escaped(" ".join(names)) if names else "")


def _varied(names: Sequence[str]) -> list[str]:
    """The names without those of a long series."""
    series = Counter[str]()
    kept = []
    for name in names:
        shape = _DIGITS.sub("0", name)
        series[shape] += 1
        if series[shape] <= _ALIKE:
            kept.append(name)
    return kept


def _lines(pages: Sequence[PageMessage], vocabulary: Vocabulary) -> Iterator[Line]:
    messages = dict(pages)
    changes = {handle: _changes(message) for handle, message in pages}
    for line in structured(pages, vocabulary).lines:
        if isinstance(line, tuple):
            continue  # names are chosen for all pages together
        handle, _, text = line.partition(" ")
        message = messages.get(handle)
        if message is None:
            yield Line(line, _WRONG)
        elif _EFFECT.match(text):
            yield Line(f"{handle} {next(changes[handle])}", _CHANGED)
        elif text.startswith(f"{message.role}:"):
            is_wish = message.role is Role.USER and not message.synthetic
            yield Line(f"{handle} {message.role}: {_gist(message)}", _ASKED if is_wish else _SAID)
        else:
            yield Line(line, _CALLED)


def _changes(message: Message) -> Iterator[str]:
    """What the calls of a message changed, with their arguments; without digests, which mean nothing to a reader."""
    for call in message.tool_calls:
        for effect in effects(call):
            yield f"{effect.partition(' ')[0]} {asked(call)}"


def _gist(message: Message) -> str:
    said = " ".join(without_middle(message.text).split())
    if len(said) > _GIST:
        sentences = {line.text: line for line in prose.outline(Material(said))}  # each once
        said = " ".join(pick(list(sentences.values()), _GIST).split())
    return escaped(said) or f"[{', '.join(dict.fromkeys(type(part).__name__.lower() for part in message.content))}]"


def _once(lines: Iterator[Line]) -> list[Line]:
    """The lines in order, later ones with more weight; of lines that differ only in handle and numbers, the last."""
    given = list(lines)
    times: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, line in enumerate(given):
        shape = shape_of(line.text.partition(" ")[2])
        times[shape] = times.get(shape, 0) + 1
        last[shape] = at
    kept = []
    for shape, at in sorted(last.items(), key=lambda item: item[1]):
        line = given[at]
        text = f"{line.text} ({times[shape]} times)" if times[shape] > 1 else line.text
        kept.append(Line(text, line.weight * (1 + _LATER * at / len(given)), times[shape]))
    return kept


def _may_stand(line: str, evidence: str) -> bool:
    return not commands(line) and not invented_in(line, evidence)


def _beginnings(request: SummaryRequest, evidence: str) -> str:
    """The beginnings of the pages, in equal shares: for text that no outline makes lines of."""
    room = request.target_tokens * _CHARACTERS // len(request.pages)
    for share in (room, room * _CHARACTERS, None):
        passages = (passage[:share] for passage in request.passages())
        lines = [line for passage in passages for line in passage.splitlines() if _may_stand(line, evidence)]
        text = cut("\n".join(lines), request.target_tokens, request.count)
        if request.count(text) >= request.least_tokens:
            break
    return text
