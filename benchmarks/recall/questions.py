"""Questions with the pages that answer them: about long chats, and from the re-reads of recorded coding sessions.

A chat of 100,000 tokens is easier to search than one of 500,000, so several are put into one session, one after the other.
"""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pageturn as pt
from pageturn.lab.rereads import repeated
from pageturn.lab.traces import Trace, read_traces
from pageturn.values.messages import Message, Text

CODING = ("claude-code", "codex-cli", "opencode", "pi", "gemini-cli")
_READING = {"Read", "read", "read_file", "View", "view"}
_PATH_FIELDS = ("file_path", "path", "filePath", "notebook_path", "absolute_path")
_PATH = re.compile(r"(?:[\w.@~-]*/)+[\w.@-]+\.\w{1,8}")
NOTHING = (  # what nobody in any of the chats talks about, and that shares no more than a word with them
    "xylophone qqq", "zorblax frimble", "asdf jkl qwerty", "submarine licence fee", "recipe for goulash", "1974 world cup",
    "ingress controller of the cluster", "capital of Mongolia", "lorem ipsum dolor", "the walrus and the carpenter",
    "ozone layer above Antarctica", "how do bees find their hive", "quorum of the parish council", "tax on chimneys in 1662",
    "glaciers of Patagonia", "blorptastic vimmel", "who invented the zipper", "tuning a harpsichord", "fjords near Bergen",
    "moulting of lobsters", "opening move of the Sicilian defence", "kiln temperature for porcelain", "sumo ranks", "yak butter",
)  # fmt: skip
_MOST_WORDS = 300  # characters of what the assistant said before a call


class Question(NamedTuple):
    """A question, where the answers are among the messages of its session, and how many messages there were when it was asked."""

    text: str
    answers: frozenset[int]
    category: str
    asked_at: int | None = None


class Case(NamedTuple):
    """One session, and the questions about it."""

    name: str
    messages: Sequence[Message]
    questions: Sequence[Question]


def is_for_tuning(name: str) -> bool:
    return int(blake2b(name.encode()).hexdigest(), 16) % 2 == 0


def chats(folder: Path, *, tuning: bool, together: int) -> Iterator[Case]:
    """The chats of one half, so many of them in one session."""
    with gzip.open(folder / "memory_qa" / "beam_100k.jsonl.gz", "rt", encoding="utf-8") as lines:
        half = [chat for chat in map(json.loads, lines) if is_for_tuning(chat["id"]) is tuning]
    for group in _batched(half, together):
        messages: list[Message] = []
        questions: list[Question] = []
        for chat in group:
            first, count = len(messages), len(chat["messages"])
            messages += [Message(role=m["role"], content=(Text(text=m["content"]),)) for m in chat["messages"]]
            for asked in chat["qa"]:
                answers = frozenset(first + at for at in _flat(asked["evidence"]) if at < count)
                questions.append(Question(asked["question"], answers, asked["category"]))
        questions += [Question(text, frozenset(), "nothing") for text in NOTHING if is_for_tuning(text) is tuning]
        yield Case("+".join(chat["id"] for chat in group), messages, questions)


def _batched(items: list[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _flat(evidence: Any) -> list[int]:
    return [evidence] if isinstance(evidence, int) else [at for each in evidence for at in _flat(each)]


def coding(folder: Path, *, tuning: bool, most: int | None = None) -> Iterator[Case]:
    """The coding sessions of one half in which something was read once more."""
    found = 0
    for source in CODING:
        for path in sorted((folder / "traces").glob(f"{source}.*")):
            for trace in read_traces(path):
                questions = [*_rereads(trace)] if trace.is_for_tuning is tuning else []
                if questions and (most is None or found < most):
                    found += 1
                    yield Case(trace.id, trace.messages, questions)


def _rereads(trace: Trace) -> Iterator[Question]:
    """A question from each call that read what was read before: the path, and what the assistant said; the answer is the earlier page."""
    for asked, repeats in repeated(trace).items():
        for repeat in repeats:
            call = next(each for each in trace.messages[asked].tool_calls if each.name == repeat.tool)
            kind = "same read" if call.name in _READING else "same command"
            yield Question(_question(trace, asked, _paths(call)), frozenset({repeat.before}), kind, asked)
    read: dict[str, set[int]] = defaultdict(set)
    paths: dict[str, str] = {}
    for at, message in enumerate(trace.messages):
        for call in message.tool_calls:
            if call.name in _READING:
                path = paths[call.id] = _paths(call)
                if read[path]:
                    yield Question(_question(trace, at, path), frozenset(read[path]), "same path", at)
        for result in message.tool_results:
            if result.tool_call_id in paths:
                read[paths[result.tool_call_id]].add(at)


def _question(trace: Trace, at: int, path: str) -> str:
    for message in reversed(trace.messages[max(0, at - 3) : at + 1]):
        said = " ".join(part.text for part in message.content if isinstance(part, Text)).strip()
        if message.role is pt.Role.ASSISTANT and said:
            return f"{path} {said[-_MOST_WORDS:]}"
    return path


def _paths(call: pt.ToolCall) -> str:
    given = call.parsed if isinstance(call.parsed, dict) else {}
    for field in _PATH_FIELDS:
        if isinstance(given.get(field), str):
            return str(given[field])
    command = str(given.get("command") or given.get("cmd") or call.arguments)
    return " ".join(_PATH.findall(command)[:2]) or command[:120]
