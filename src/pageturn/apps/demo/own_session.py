"""Replays a session that Claude Code or Codex recorded on this machine, in a store of its own. Nothing leaves the machine."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pageturn as pt
from pageturn.apps.demo.provider import shared
from pageturn.apps.demo.table import Played
from pageturn.apps.demo.turns import Turn
from pageturn.apps.importing import Report, files_in, import_file
from pageturn.apps.overview.facts import UNKNOWN_MODEL, model_of
from pageturn.journal.journal import Journal
from pageturn.lab.our_policies import CharacterCounter
from pageturn.lab.replay import Shown
from pageturn.lab.stored_traces import stored_traces
from pageturn.lab.traces import estimated_tokens
from pageturn.stores import Store, open_store
from pageturn.values.context import Context
from pageturn.values.errors import InvalidInput, UnknownPrice
from pageturn.values.ids import fitting_session_id
from pageturn.values.messages import Message
from pageturn.values.model_prices import REFERENCE, ModelPrice, price_of
from pageturn.values.recall_tool import RecallTool

MOST_TURNS = 400  # of a session: what a method shows is measured in time quadratic in turns
_MOST_BUDGET, _LEAST_BUDGET, _SHARE = 32_000, 4_000, 4


def newest(folders: Sequence[Path]) -> Path | None:
    """The recorded session that was written last; None if there is none."""
    logs = (file for file in files_in(folders, Report()) if ".jsonl" in file.name and file.is_file())
    return max(logs, key=lambda file: (file.stat().st_mtime, file), default=None)


class OwnSession:
    """A copy of a recorded session, and the same session as Paged would have managed it."""

    def __init__(self, file: Path, store: Path) -> None:
        self._store = store
        with closing(open_store(str(store))) as opened:
            report = Report()
            import_file(opened, file, report)
            found = [trace for trace in stored_traces(opened, file.name) if trace.turns]
            if not found:
                got = report.failed.get(file, "none")
                raise InvalidInput(str(file), expected="a session in which a model answered", got=got)
            self._whole = max(found, key=lambda trace: len(trace.turns))
            self._model = _model(opened, self._whole.id)
        ends = [*self._whole.turns[1:], len(self._whole.messages)]
        end = ends[min(MOST_TURNS, len(ends)) - 1]
        self.trace = self._whole._replace(messages=self._whole.messages[:end], times=self._whole.times[:end])
        self.budget_tokens = min(_MOST_BUDGET, max(_LEAST_BUDGET, self.trace.tokens // _SHARE))
        self.session = fitting_session_id(f"{self.trace.id}-paged")
        self._shown: list[Shown | None] = []
        self._ended_at = datetime.fromtimestamp(file.stat().st_mtime, UTC)

    @property
    def recorded_turns(self) -> int:
        """How many turns were recorded; the first of them are replayed."""
        return len(self._whole.turns)

    def turns(self) -> Iterator[Turn]:
        """Replay it, and keep it beside the copy, with the usage that a provider with a cache of prefixes would report."""
        trace, times = self.trace, self.trace.times or (0.0,) * len(self.trace.messages)
        now = begun = self._ended_at - timedelta(seconds=times[-1])
        whole = 0
        before: Context | None = None
        policy = pt.Paged(budget_tokens=self.budget_tokens)
        with pt.Session.open(
            self._store,
            id=self.session,
            model=self._model,
            policy=policy,
            counter=CharacterCounter(),
            clock=lambda: now,
        ) as session:
            answers = set(trace.turns)
            for place, message in enumerate(trace.messages):
                now = begun + timedelta(seconds=times[place])
                usage = None
                if place in answers:
                    context = _derived(session)
                    usage = _usage(context, before, message) if context is not None else None
                    before = context or before
                    self._shown.append(_shown(context) if context is not None else None)
                    sent, folded = (context.tokens, context.fold is not None) if context is not None else (0, False)
                    yield Turn(len(self._shown), sent, whole, folded)
                session.append(message, usage)
                whole += estimated_tokens(message)

    @property
    def played(self) -> Played:
        """What was sent, for the table."""
        return Played(
            trace=self.trace,
            paged_trace=self.trace,
            paged=self._shown,
            rules=(),
            budget_tokens=self.budget_tokens,
            price=_price(self._model),
        )


def _model(store: Store, session: str) -> str | None:
    journal = Journal.open(store, session)
    assert journal is not None, "it was imported just now"
    found = model_of(journal)
    return None if found == UNKNOWN_MODEL else found


def _price(model: str | None) -> ModelPrice:
    try:
        return price_of(model) if model is not None else REFERENCE
    except UnknownPrice:
        return REFERENCE


def _derived(session: pt.Session) -> Context | None:
    """What would have been sent; None where even the rules and the task do not fit."""
    try:
        return session.derive()
    except pt.BudgetTooSmall:
        return None


def _shown(context: Context) -> Shown:
    tools = [tool.definition if isinstance(tool, RecallTool) else tool for tool in context.tools]
    return Shown(context.messages, breakpoints=context.breakpoints, tools_tokens=CharacterCounter().tools(tools))


def _usage(context: Context, before: Context | None, reply: Message) -> pt.Usage:
    same = shared(before.messages, context.messages) if before is not None else 0
    read = sum(map(estimated_tokens, context.messages[:same]))
    return pt.Usage(
        input_tokens=context.tokens,
        output_tokens=estimated_tokens(reply),
        cache_read_tokens=read,
        cache_write_tokens=context.tokens - read,
    )
