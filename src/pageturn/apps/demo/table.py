"""Compares what was sent with four other ways to send the same session: cost, what later calls missed, rules, rejected requests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

import pageturn as pt
from pageturn.apps.demo.strict import rejection
from pageturn.formats import openai_chat
from pageturn.lab.baselines import everything, keep_last, masking
from pageturn.lab.our_policies import Deriving, first_lines
from pageturn.lab.replay import Recording, Score, Seen, Shown, Shows
from pageturn.lab.traces import Trace, text_of
from pageturn.values.messages import Message, Role
from pageturn.values.model_prices import ModelPrice
from pageturn.values.prompt import Prompt

_MODEL = "gpt-5"  # of the vendor whose rules are checked
OURS, EVERYTHING = "Paged", "send everything"


class Played(NamedTuple):
    """A session that Paged managed, and what is needed to compare it."""

    trace: Trace  # as its agent has it
    paged_trace: Trace  # with the rounds in which the model recalled
    paged: Sequence[Seen]  # what was sent, for each turn of the latter
    rules: tuple[str, ...]  # what the user wants to hold, each from where it was said
    budget_tokens: int
    price: ModelPrice
    rejected: int = 0  # how many requests a provider rejected, and are not among those that were sent


class Row(NamedTuple):
    """The figures of one way."""

    name: str
    score: Score
    dollars: float
    rules_kept: float | None  # the share of requests that show word for word every rule said so far
    rejected: int  # requests that a strict provider rejects, while it would take the whole history


def rows(played: Played) -> list[Row]:
    """A row for each way, Paged first."""
    budget = played.budget_tokens
    ways: Mapping[str, Callable[[], Shows]] = {
        EVERYTHING: lambda: everything,
        "rolling trim": lambda: keep_last(budget),
        "observation masking": masking,
        "summary reset": lambda: Deriving(pt.Reset(threshold_tokens=budget), summarise=first_lines),
    }
    vendor = played.price.vendor()
    ours = _row(OURS, Recording(played.paged_trace, vendor=vendor), lambda _: played.paged, played)
    recording = Recording(played.trace, vendor=vendor)
    others = [_row(name, recording, shows(), played) for name, shows in ways.items()]
    # A recall is a turn of Paged only: its bill is relative to the session without.
    ours = ours._replace(
        score=replace(ours.score, whole=others[0].score.whole), rejected=ours.rejected + played.rejected
    )
    return [ours, *others]


def _row(name: str, recording: Recording, shows: Shows, played: Played) -> Row:
    watched = _Watched(shows, played.rules)
    score = recording.score(watched)
    return Row(name, score, played.price.of_input(score.paid), watched.rules_kept, watched.rejected)


class _Watched:
    """Looks at what is sent on its way to being scored."""

    def __init__(self, shows: Shows, rules: Sequence[str]) -> None:
        self._shows = shows
        self._rules = rules
        self._kept: list[bool] = []
        self.rejected = 0

    @property
    def rules_kept(self) -> float | None:
        return sum(self._kept) / len(self._kept) if self._kept else None

    def __call__(self, trace: Trace) -> Iterator[Seen]:
        said = [_first_said(trace, rule) for rule in self._rules]
        for turn, seen in zip(trace.turns, self._shows(trace), strict=True):
            messages = tuple((seen.messages if isinstance(seen, Shown) else seen) or ())
            due = [rule for rule, at in zip(self._rules, said, strict=True) if at < turn]
            if due:
                told = [text_of(message) for message in messages]
                self._kept.append(all(any(rule in text for text in told) for rule in due))
            self.rejected += _is_broken(messages, trace.messages[:turn])
            yield seen


def _is_broken(messages: tuple[Message, ...], whole: tuple[Message, ...]) -> bool:
    """Whether a provider rejects a request, and would have accepted the whole history."""
    if messages == whole or rejection(_dumped(messages)) is None:
        return False
    return rejection(_dumped(whole)) is None


def _first_said(trace: Trace, rule: str) -> int:
    places = (at for at, each in enumerate(trace.messages) if each.role is Role.USER and rule in each.text)
    return next(places, len(trace.messages))


def _dumped(messages: Sequence[Message]) -> list[dict[str, object]]:
    """The messages as a request has them."""
    return list(openai_chat.dump(Prompt(messages=tuple(messages), model=_MODEL))["messages"])
