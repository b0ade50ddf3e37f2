"""What every runner needs, with the standard library alone: the session from standard input, requests to standard output.

`pageturn.lab.peers` says what is read and written. All runners count a quarter of the characters, and have one stand-in for whoever
writes summaries: it tells the names that came most often in what it was given to read.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

Message = dict[str, Any]

_NAME = re.compile(r"[\w./@-]*(?:[/_]|\d{3}|[a-z][A-Z])[\w./@-]*")
_SUMMARY_CHARS = 4_000

_answers = sys.stdout


class Given(NamedTuple):
    """A session, the tokens that a request may have, and the messages that should never go."""

    budget_tokens: int
    pinned: list[int]
    messages: list[Message]

    @property
    def turns(self) -> list[int]:
        return [place for place, message in enumerate(self.messages) if message["role"] == "assistant"]

    def fresh(self) -> Iterable[list[int]]:
        """The places of the messages that came since the turn before, turn by turn."""
        turns = self.turns
        return (list(range(first, last)) for first, last in zip([0, *turns], turns, strict=False))


def given() -> Given:
    sys.stdout = sys.stderr  # libraries print banners and warnings
    opening, *messages = map(json.loads, sys.stdin)
    return Given(opening["budget_tokens"], opening["pinned"], messages)


def send(request: Sequence[int | Message], recalled: dict[int, str] | None = None) -> None:
    print(json.dumps({"request": request, "recalled": recalled or {}}), file=_answers, flush=True)


def refuse(why: str) -> None:
    print(json.dumps({"refused": why}), file=_answers, flush=True)


def text_of(message: Message) -> str:
    """All that a message says."""
    told: list[str] = []
    for part in message["content"]:
        match part:
            case {"type": "text" | "thinking", "text": text}:
                told.append(text)
            case {"type": "tool_call", "name": name, "arguments": arguments}:
                told += [name, arguments]
            case {"type": "tool_result", "content": str(text)}:
                told.append(text)
            case {"type": "tool_result", "content": parts}:
                told += [inner["text"] for inner in parts if inner["type"] == "text"]
            case {"type": "image", "url": url} if not url.startswith("data:"):
                told.append(url)
    return "\n".join(told)


def tokens(message: Message) -> int:
    return len(text_of(message)) // 4


def summary(text: str) -> str:
    """The stand-in for a model that sums up."""
    names = [name for name, _ in Counter(_NAME.findall(text)).most_common()]
    fitting = sum(1 for size in accumulate(len(name) + 1 for name in names) if size <= _SUMMARY_CHARS)
    return "What came up so far, most often first: " + " ".join(names[:fitting])


def parts(message: Message, kind: str) -> list[Message]:
    return [part for part in message["content"] if part["type"] == kind]


def said(message: Message) -> str:
    """The text of a message, without calls and results."""
    return "\n".join(part["text"] for part in parts(message, "text"))


def result_text(part: Message) -> str:
    content = part["content"]
    return content if isinstance(content, str) else "\n".join(inner.get("text", "") for inner in content)


def arguments_of(call: Message) -> dict[str, Any]:
    """The arguments of a call as an object, which is all that some libraries take."""
    try:
        value = json.loads(call["arguments"])
    except ValueError:
        return {"input": call["arguments"]}
    return value if isinstance(value, dict) else {"input": value}


def message_of(role: str, *content: Message) -> Message:
    return {"role": role, "content": list(content)}


def text_part(text: str) -> Message:
    return {"type": "text", "text": text}


def strategy(known: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The one that the command line names."""
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        sys.exit(f"give one of: {', '.join(known)}")
    return known[sys.argv[1]]
