"""Baselines: minimal versions of common methods that keep a session within a token budget.

They serve for comparison: all run on the same recorded sessions, in chars/4 tokens. None of them refuses a request, so one whose
opening and newest messages are larger than the budget exceeds it.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from pageturn.lab.replay import Shows
from pageturn.lab.traces import Trace, estimated_tokens, text_of
from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message, Role, ToolResult, user

_OPENING = (Role.SYSTEM, Role.DEVELOPER)
_MASK = "[output omitted]"
_TAIL = 2  # messages at the end that stay whole
_LABEL_CHARS, _POINTER_CHARS, _HEAD_CHARS = 56, 48, 80
_CAP_TOKENS = 250  # of the names that a structured form lists
_HALF_LIFE = 60  # messages


def everything(trace: Trace) -> Iterator[tuple[Message, ...]]:
    """Sends everything at every turn; there is no budget."""
    return (trace.messages[:turn] for turn in trace.turns)


def keep_last(budget_tokens: int, tokens: Callable[[Message], int] = estimated_tokens) -> Shows:
    """The system prompt and the newest messages that fit, chosen again at every turn."""

    def shows(trace: Trace) -> Iterator[list[Message]]:
        sizes = [tokens(message) for message in trace.messages]
        return (_newest(trace, turn, sizes, budget_tokens) for turn in trace.turns)

    return shows


def cut(budget_tokens: int, low: float) -> Shows:
    """Everything until it exceeds the budget; then the oldest messages are dropped until this share of the budget is left."""

    def shows(trace: Trace) -> Iterator[list[Message]]:
        sizes = _sizes(trace)
        return folded(trace, budget_tokens, lambda turn: _newest(trace, turn, sizes, low * budget_tokens))

    return shows


def masking(last: int = 10, *, at_once: int = 1) -> Shows:
    """Everything, except that only the newest tool results are kept; there is no budget. Masking several at once breaks the cache less
    often.
    """

    def shows(trace: Trace) -> Iterator[list[Message]]:
        shown: list[Message] = []
        unmasked: list[int] = []
        for turn in trace.turns:
            unmasked += (at for at in range(len(shown), turn) if trace.messages[at].tool_results)
            shown += trace.messages[len(shown) : turn]
            while len(unmasked) >= last + at_once:
                for oldest in unmasked[:at_once]:
                    shown[oldest] = masked(shown[oldest])
                del unmasked[:at_once]
            yield list(shown)

    return shows


def prototype(budget_tokens: int, low: float, *, cap_tokens: int = _CAP_TOKENS) -> Shows:
    """Everything until it exceeds the budget; then pages are shortened to this share of it, the least useful ones most.

    System messages, the latest user message and the last two messages stay whole. Every other page starts as a pointer and is raised,
    by value per token, to its head with the names that it introduced, and to its full text. Pointers take at most half of the room; a
    page too old for one is shown at a higher level or not at all.
    """

    def shows(trace: Trace) -> Iterator[list[Message]]:
        ladders = _ladders(trace, cap_tokens)
        return folded(trace, budget_tokens, lambda turn: _packed(trace, turn, ladders, low * budget_tokens))

    return shows


def folded(trace: Trace, budget_tokens: int, fold: Callable[[int], list[Message]]) -> Iterator[list[Message]]:
    """Requests that only grow; one over the budget is replaced by what `fold` makes of everything before that turn."""
    shown: list[Message] = []
    tokens = heard = 0
    for turn in trace.turns:
        fresh = trace.messages[heard:turn]
        shown += fresh
        tokens += sum(map(estimated_tokens, fresh))
        heard = turn
        if tokens > budget_tokens:
            shown = fold(turn)
            tokens = sum(map(estimated_tokens, shown))
        yield list(shown)


def _sizes(trace: Trace) -> list[int]:
    return [estimated_tokens(message) for message in trace.messages]


def _newest(trace: Trace, turn: int, sizes: list[int], tokens: float) -> list[Message]:
    """The system messages before a turn, and as many of the newest messages as fit; always the last one."""
    kept = {at for at in range(turn) if trace.messages[at].role in _OPENING}
    room = tokens - sum(sizes[at] for at in kept)
    for at in range(turn - 1, -1, -1):
        if at in kept:
            continue
        room -= sizes[at]
        if room < 0 and at < turn - 1:
            break
        kept.add(at)
    return [trace.messages[at] for at in sorted(kept)]


def newest_within(messages: Sequence[Message], tokens: int) -> list[Message]:
    """As many of the newest messages as fit; none if the last one does not."""
    kept: list[Message] = []
    for message in reversed(messages):
        tokens -= estimated_tokens(message)
        if tokens < 0:
            break
        kept.insert(0, message)
    return kept


def masked(message: Message) -> Message:
    """A message with the text of its results removed."""
    parts = (replace(part, content=_MASK) if isinstance(part, ToolResult) else part for part in message.content)
    return replace(message, content=tuple(parts))


class _Form(NamedTuple):
    """One way to show a page."""

    message: Message | None
    tokens: int
    names: int = 0  # how many it lists


_ABSENT = _Form(None, 0)
_Ladder = tuple[_Form, ...]  # from the shortest form of a page to its full text


def _ladders(trace: Trace, cap_tokens: int) -> list[_Ladder]:
    """The forms of every page of a session."""
    known: set[str] = set()
    ladders = []
    for number, message in enumerate(trace.messages):
        text, tokens = text_of(message), estimated_tokens(message)
        introduced = [name for name in names_in(text) if name not in known]
        known.update(introduced)
        listed = _capped(introduced, cap_tokens)
        label = f"[page {number}, {message.role}, {tokens} tokens: recall it to read it]".ljust(_LABEL_CHARS)
        pointer = user(f"{label}{text[:_POINTER_CHARS]}")
        structured = user(f"{label}{text[:_HEAD_CHARS]}\n{' '.join(listed)}")
        ladder = [_Form(message, tokens)]
        for shorter in (
            _Form(structured, estimated_tokens(structured), len(listed)),
            _Form(pointer, estimated_tokens(pointer)),
        ):
            if shorter.tokens < ladder[0].tokens:
                ladder.insert(0, shorter)
        ladders.append(tuple(ladder))
    return ladders


def _capped(names: list[str], tokens: int) -> list[str]:
    room = tokens * 4
    for count, name in enumerate(names):
        room -= len(name) + 1
        if room < 0:
            return names[:count]
    return names


def _packed(trace: Trace, turn: int, ladders: list[_Ladder], tokens: float) -> list[Message]:
    """Everything before a turn in at most this many tokens, or as few as what stays whole allows."""
    messages = trace.messages[:turn]
    whole = {at for at, message in enumerate(messages) if message.role in _OPENING} | set(range(turn)[-_TAIL:])
    whole.update([at for at, message in enumerate(messages) if message.role is Role.USER][-1:])
    room = max(0.0, tokens - sum(ladders[at][-1].tokens for at in whole))
    choices = _with_pointers({at: ladders[at] for at in range(turn) if at not in whole}, room / 2)
    chosen = _climbed(choices, room, turn) | {at: ladders[at][-1] for at in whole}
    return [form.message for _, form in sorted(chosen.items()) if form.message is not None]


def _with_pointers(ladders: dict[int, _Ladder], room: float) -> dict[int, _Ladder]:
    """The same forms, without the lowest form of the oldest pages if not all of them fit."""
    choices = {}
    for at, ladder in sorted(ladders.items(), reverse=True):
        room -= ladder[0].tokens
        choices[at] = ladder if room >= 0 else (_ABSENT, *(ladder[1:] or ladder))
    return choices


def _climbed(choices: dict[int, _Ladder], room: float, turn: int) -> dict[int, _Form]:
    """The form of each page, after taking the steps with the highest value per token."""
    room -= sum(ladder[0].tokens for ladder in choices.values())
    steps: list[tuple[float, int, int]] = []

    def offer(at: int, level: int) -> None:
        if level < len(choices[at]):
            below, form = choices[at][level - 1 : level + 1]
            value = (0.5 + 0.5 ** ((turn - at) / _HALF_LIFE)) * (1 + form.names)
            heapq.heappush(steps, (-value / max(form.tokens - below.tokens, 1), -at, level))

    chosen = {at: ladder[0] for at, ladder in choices.items()}
    for at in choices:
        offer(at, 1)
    while steps:
        _, newest, level = heapq.heappop(steps)
        form = choices[-newest][level]
        extra = form.tokens - chosen[-newest].tokens
        if extra <= room:
            room -= extra
            chosen[-newest] = form
            offer(-newest, level + 1)
    return chosen
