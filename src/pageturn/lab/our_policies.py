"""Runs our policies on recorded sessions, through a session like any other."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from pageturn.context.renditions import BUILT_IN, Renderers
from pageturn.context.renditions.contract import Line, Material, Renderer
from pageturn.journal.journal import Journal
from pageturn.lab.replay import Seen, Shown
from pageturn.lab.results import Form
from pageturn.lab.traces import Trace, estimated_tokens, text_of
from pageturn.policies import AnyPolicy
from pageturn.recall.resolving import Resolved
from pageturn.session import Parts, Session
from pageturn.stores import MemoryStore, SessionRow
from pageturn.tokens.counters import TokenCounter
from pageturn.values.context import Context, Wish
from pageturn.values.entries import Committed
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.identifiers import names_in
from pageturn.values.json import to_json
from pageturn.values.messages import Message
from pageturn.values.proposals import Proposal
from pageturn.values.recall_tool import RecallTool

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class CharacterCounter:
    """Counts a quarter of the characters, the unit in which policies are compared."""

    name = "chars/4"
    exact = False
    described = "estimate: a quarter of the characters"

    def text(self, text: str) -> int:
        return len(text) // 4

    def message(self, message: Message) -> int:
        return estimated_tokens(message)

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        return len(to_json(list(tools))) // 4 if tools else 0


class Deriving:
    """What the model sees under a policy; in tokens of four characters, unless another counter is given.

    With `summarise`, every summary that the policy wishes for is written from the pages that it would replace.
    """

    def __init__(
        self,
        policy: AnyPolicy,
        counter: TokenCounter | None = None,
        *,
        budget_tokens: int | None = None,
        recall: RecallTool | None = RecallTool(),  # noqa: B008
        summarise: Callable[[Sequence[Message]], str] | None = None,
        renderers: Renderers = BUILT_IN,
    ) -> None:
        self.summaries = 0  # admitted so far
        self._policy = policy
        self._counter = counter or CharacterCounter()
        self._budget_tokens = budget_tokens
        self._recall_tool = recall
        self._summarise = summarise
        self._renderers = renderers

    def __call__(self, trace: Trace) -> Iterator[Seen]:
        """What it shows of a recorded session, turn by turn."""
        clock = _Clock(trace.times)
        session = session_of(
            self._policy, self._counter, recall=self._recall_tool, clock=clock, renderers=self._renderers
        )
        counted = 0
        starts = [0, *trace.turns]
        for start, turn, end in zip(starts, trace.turns, [*trace.turns[1:], len(trace.messages)], strict=False):
            if start == 0:
                self._append(session, clock, trace, range(turn))
            context = self._derived(session)
            self._append(session, clock, trace, range(turn, end))
            for wish in context.wanted if context is not None else ():
                if self._summarise is not None:
                    self.summaries += write_summary(session, wish, self._summarise)
            faults = session.reader.faults()
            yield self._shown(context, Counter(record.entry.fault.code for record in faults[counted:]))
            counted = len(faults)

    def _derived(self, session: Session) -> Context | None:
        try:
            return session.derive(budget_tokens=self._budget_tokens)
        except BudgetTooSmall:
            return None

    def _shown(self, context: Context | None, faults: Mapping[str, int]) -> Shown | None:
        """A context in the form that is measured. Pages after its last fold need no mention: they are full."""
        if context is None:
            return None
        forms: Counter[Form] = Counter()
        for placement in context.folded:
            forms[Form.LINE if placement.line is not None else Form(placement.level.value)] += placement.tokens
        tools = [tool.definition if isinstance(tool, RecallTool) else tool for tool in context.tools]
        return Shown(context.messages, forms, faults, context.breakpoints, self._counter.tools(tools))

    def _append(self, session: Session, clock: "_Clock", trace: Trace, places: Iterable[int]) -> None:
        for place in places:
            clock.now = place
            session.append(trace.messages[place])


def write_summary(session: Session, wish: Wish, summarise: Callable[[Sequence[Message]], str]) -> bool:
    """Write the summary of a run that a policy wishes for, from its pages; returns whether it was admitted."""
    if ".." not in wish.handle:
        return False
    pages = session.reader.pages_between(wish.handle)
    found = [session.resolve(page) for page in pages] if isinstance(pages, tuple) else []
    messages = [each.message for each in found if isinstance(each, Resolved)]
    if not messages:
        return False
    evidence = tuple(wish.handle.split(".."))
    outcome = session.write_back(Proposal(field="summary", value=summarise(messages), evidence=evidence))
    return isinstance(outcome, Committed)


def session_of(
    policy: AnyPolicy,
    counter: TokenCounter | None = None,
    *,
    recall: RecallTool | None = None,
    clock: Callable[[], datetime] = lambda: _NOW,
    journal: Journal | None = None,
    renderers: Renderers = BUILT_IN,
) -> Session:
    """A session in memory with a fixed key and clock, so that every replay gives the same bytes."""
    parts = Parts(counter=counter or CharacterCounter(), recall=recall, clock=clock, entropy=bytes, renderers=renderers)
    return Session(journal or empty_journal(), parts, policy=policy)


def remembering(renderers: Renderers) -> Renderers:
    """The same renderers with a cache of the texts that they have rendered: one session is replayed many times."""

    def once(renderer: Renderer) -> Renderer:
        known: dict[bytes, Sequence[Line]] = {}

        def remembered(material: Material) -> Sequence[Line]:
            key = blake2b(to_json(material), digest_size=16).digest()
            if key not in known:
                known[key] = renderer(material)
            return known[key]

        return remembered

    by_type = {type_: once(renderer) for type_, renderer in renderers.by_type.items()}
    return Renderers(by_type, {tool: once(renderer) for tool, renderer in renderers.by_tool.items()})


def empty_journal() -> Journal:
    """A journal in memory with a fixed key."""
    store, row = MemoryStore(), SessionRow("replay", bytes(16), 0)
    store.create(row)
    return Journal(store, row)


class _Clock:
    """A clock at the time of a message, or standing still if the times are unknown."""

    def __init__(self, times: Sequence[float]) -> None:
        self.now = 0  # the place of the message
        self._times = times

    def __call__(self) -> datetime:
        return _NOW + timedelta(seconds=self._times[self.now]) if self._times else _NOW


def first_lines(messages: Sequence[Message], most_chars: int = 4_000) -> str:
    """A stand-in for a summarizer: what people and the model said first, and the most frequent names, in this many characters."""
    names = Counter(name for message in messages for name in names_in(text_of(message)))
    said = [
        f"{message.role}: {message.text.split(chr(10), 1)[0][:160]}" for message in messages if message.text.strip()
    ]
    beginning = "\n".join(said)[: most_chars // 2]
    return f"{beginning}\n{' '.join(name for name, _ in names.most_common())}"[:most_chars].rstrip()
