"""Generates synthetic workloads for the simulation: sessions of pages without text. Recorded ones are in traces.py.

The families are of our own design and represent what goes wrong in long agent sessions: results that are needed again
and again (evidence churn), rules and plans that must outlive compactions, unsaved state that resets would destroy, and
several sessions under one set of rules. Three more are adversarial. Sizes, orders and times come from a random
seed; what each family is about does not depend on it. Hard pages are demanded at their floor and never above, so that
the floors alone determine which budgets can work.
"""

from collections.abc import Mapping
from enum import StrEnum
from random import Random
from typing import NamedTuple

from pageturn.values.pages import PageKind, ResidencyLevel

BUDGETS = (120, 180, 240, 300, 380, 500)  # tokens; ClawVM's evaluation

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_WANTED_LEVELS = (_FULL, _FULL, _COMPRESSED, _STRUCTURED)  # by weight: mostly whole results are needed


class Pin(StrEnum):
    """How firmly a page must stay: hard ones never below their floor, soft ones if possible."""

    HARD = "hard"
    SOFT = "soft"
    NONE = "none"


class Boundary(StrEnum):
    """What destroys the context before a turn; a switch brings in another session, the others drop unsaved state."""

    COMPACTION = "compaction"
    RESET = "reset"
    SWITCH = "switch"


class PageSpec(NamedTuple):
    """A page without text: its tokens at each level, and its worth."""

    id: str
    kind: PageKind
    pin: Pin
    floor: ResidencyLevel
    tokens: Mapping[ResidencyLevel, int]
    base_utility: float
    recompute_cost: float
    session: str = ""  # the session of the page; empty if all sessions share it

    @property
    def floor_tokens(self) -> int:
        """What the page takes at its floor."""
        return self.tokens[self.floor]


class Demand(NamedTuple):
    """A page that a turn needs, and the lowest level that is enough."""

    page: str
    level: ResidencyLevel


class Turn(NamedTuple):
    """What one turn needs, what happened before it, and the pages that it leaves with unsaved state."""

    demands: tuple[Demand, ...]
    boundary: Boundary | None = None
    dirty: tuple[str, ...] = ()
    session: str = ""


class Workload(NamedTuple):
    """A synthetic session, or several that take turns."""

    name: str
    pages: tuple[PageSpec, ...]
    turns: tuple[Turn, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that take turns, in the order in which they came."""
        return tuple(dict.fromkeys(turn.session for turn in self.turns))

    @property
    def is_multi_session(self) -> bool:
        """Whether more than one session takes turns."""
        return len(self.sessions) > 1

    def pages_in(self, session: str) -> tuple[PageSpec, ...]:
        """The pages that a session may show: its own, and the shared ones."""
        return tuple(page for page in self.pages if page.session in ("", session))

    @property
    def floor_tokens(self) -> int:
        """The smallest budget that holds every hard page at its floor, in the session that needs the most."""
        return max(
            sum(page.floor_tokens for page in self.pages_in(session) if page.pin is Pin.HARD)
            for session in self.sessions
        )


def families(seed: int) -> tuple[Workload, ...]:
    """The four families, the same for the same seed."""
    return (evidence_churn(seed), plan_and_bootstrap(seed), unsaved_preferences(seed), many_sessions(seed))


def adversaries(seed: int) -> tuple[Workload, ...]:
    """The three hostile workloads, the same for the same seed."""
    return (starvation(), churn(seed), cascade(seed))


def evidence_churn(seed: int) -> Workload:
    """24 results in rotation: each is needed in two turns in a row, and again when it has long been lowered."""
    rng = _random("evidence_churn", seed)
    evidence = [_evidence(rng, f"evidence-{n:02}") for n in range(24)]
    asked = [[evidence[(at + n) % len(evidence)] for n in range(2)] for at in range(72)]
    turns = tuple(Turn(_wanted(rng, pages)) for pages in asked)
    return Workload("evidence_churn", (*_rules(rng), *evidence), turns)


def plan_and_bootstrap(seed: int) -> Workload:
    """Work along a plan, with notes, and a compaction about every eight turns."""
    rng = _random("plan_and_bootstrap", seed)
    plan = _page(rng, "plan", PageKind.PLAN, Pin.HARD)
    notes = [_page(rng, f"note-{n}", PageKind.CONVERSATION, Pin.NONE) for n in range(5)]
    evidence = [_evidence(rng, f"evidence-{n:02}") for n in range(10)]
    compactions = _about_every(rng, 8, until=48)
    turns = tuple(
        Turn(
            (Demand(plan.id, plan.floor), *_wanted(rng, rng.sample(evidence, rng.randint(1, 2)))),
            Boundary.COMPACTION if at in compactions else None,
            dirty=(plan.id, rng.choice(notes).id) if at % 3 == 0 else (),
        )
        for at in range(48)
    )
    return Workload("plan_and_bootstrap", (*_rules(rng), plan, *notes, *evidence), turns)


def unsaved_preferences(seed: int) -> Workload:
    """Preferences that keep changing; the session is compacted now and then, and reset three times soon after a change."""
    rng = _random("unsaved_preferences", seed)
    preferences = [_page(rng, f"preference-{n}", PageKind.PREFERENCE, Pin.SOFT) for n in range(8)]
    evidence = [_evidence(rng, f"evidence-{n:02}") for n in range(6)]
    resets = _about_every(rng, 12, until=45)
    before = {at - 1 for at in resets}
    boundaries = {at - 2: Boundary.COMPACTION for at in resets} | dict.fromkeys(resets, Boundary.RESET)
    turns = []
    for at in range(48):
        wanted = [*rng.sample(preferences, 2), *rng.sample(evidence, 1)]
        is_changing = at in before or (at + 1 not in before and rng.random() < 0.4)
        dirty = (rng.choice(preferences).id,) if is_changing else ()
        turns.append(Turn(_wanted(rng, wanted), boundaries.get(at), dirty))
    return Workload("unsaved_preferences", (*_rules(rng), *preferences, *evidence), tuple(turns))


def many_sessions(seed: int) -> Workload:
    """Three sessions of one project that take turns, each compacted once in a while; the rules are shared."""
    rng = _random("many_sessions", seed)
    sessions = ("a", "b", "c")
    evidence = {s: [_evidence(rng, f"evidence-{s}{n}", session=s) for n in range(8)] for s in sessions}
    plans = {s: _page(rng, f"plan-{s}", PageKind.PLAN, Pin.HARD, session=s) for s in sessions}
    switches = _about_every(rng, 5, until=54)
    turns = []
    current = 0
    for at in range(54):
        current += at in switches
        session = sessions[current % len(sessions)]
        plan = plans[session]
        boundary = Boundary.SWITCH if at in switches else Boundary.COMPACTION if at % 11 == 10 else None
        wanted = _wanted(rng, rng.sample(evidence[session], 2))
        dirty = (plan.id,) if at % 4 == 0 else ()
        turns.append(Turn((Demand(plan.id, plan.floor), *wanted), boundary, dirty, session))
    own = [page for s in sessions for page in (plans[s], *evidence[s])]
    return Workload("many_sessions", (*_rules(rng), *own), tuple(turns))


def starvation() -> Workload:
    """Three rules that need 60 tokens together, needed in each of ten turns; meant for a budget of 40."""
    tokens = {_STRUCTURED: 20, _FULL: 60}
    rules = tuple(PageSpec(f"rule-{n}", PageKind.CONSTRAINT, Pin.HARD, _STRUCTURED, tokens, 7.0, 1.0) for n in range(3))
    return Workload("starvation", rules, (Turn(tuple(Demand(rule.id, rule.floor) for rule in rules)),) * 10)


def churn(seed: int) -> Workload:
    """A new result in each of 50 turns, and three of the earlier ones again."""
    rng = _random("churn", seed)
    evidence = [_evidence(rng, f"evidence-{n:02}") for n in range(50)]
    asked = [[evidence[at], *rng.sample(evidence[:at], min(at, 3))] for at in range(50)]
    return Workload("churn", (*_rules(rng), *evidence), tuple(Turn(_wanted(rng, pages)) for pages in asked))


def cascade(seed: int) -> Workload:
    """Nine resets in 30 turns, most of them with something unsaved."""
    rng = _random("cascade", seed)
    preferences = [_page(rng, f"preference-{n}", PageKind.PREFERENCE, Pin.SOFT) for n in range(4)]
    resets = range(3, 30, 3)
    unsaved = {at - 1 for at in rng.sample(resets, 7)}
    turns = tuple(
        Turn(
            _wanted(rng, rng.sample(preferences, 1)),
            Boundary.RESET if at in resets else None,
            dirty=(rng.choice(preferences).id,) if at in unsaved else (),
        )
        for at in range(30)
    )
    return Workload("cascade", (*_rules(rng), *preferences), turns)


def _random(name: str, seed: int) -> Random:
    # Seeded with text: Random hashes it itself, so the hash seed of the process does not matter.
    return Random(f"{name}:{seed}")  # noqa: S311  # a lab, not a lock


def _about_every(rng: Random, turns: int, *, until: int) -> tuple[int, ...]:
    return tuple(at + rng.randint(-1, 1) for at in range(turns, until, turns))


def _wanted(rng: Random, pages: list[PageSpec]) -> tuple[Demand, ...]:
    return tuple(Demand(page.id, rng.choice(_WANTED_LEVELS)) for page in pages)


def _rules(rng: Random) -> tuple[PageSpec, ...]:
    constraint = _page(rng, "constraint", PageKind.CONSTRAINT, Pin.HARD)
    return (_page(rng, "bootstrap", PageKind.BOOTSTRAP, Pin.HARD), constraint)


def _evidence(rng: Random, id: str, *, session: str = "") -> PageSpec:  # noqa: A002  # as the field
    return _page(rng, id, PageKind.EVIDENCE, Pin.SOFT, session=session)


class _Made(NamedTuple):
    full: tuple[int, int]
    floor: ResidencyLevel
    base_utility: float
    recompute_costs: tuple[float, ...]


# The worth of evidence and constraints is that of ClawVM's converter of transcripts; the others are our own.
_MAKES = {
    PageKind.BOOTSTRAP: _Made((80, 120), _STRUCTURED, 10.0, (1.0,)),
    PageKind.CONSTRAINT: _Made((50, 80), _STRUCTURED, 7.0, (1.0,)),
    PageKind.PLAN: _Made((50, 90), _STRUCTURED, 6.0, (2.0,)),
    PageKind.PREFERENCE: _Made((20, 60), _POINTER, 4.0, (3.0,)),
    PageKind.EVIDENCE: _Made((40, 120), _POINTER, 5.0, (8.0, 8.0, 12.0, 6.0)),
    PageKind.CONVERSATION: _Made((30, 70), _POINTER, 3.0, (2.0,)),
}


def _page(rng: Random, id: str, kind: PageKind, pin: Pin, *, session: str = "") -> PageSpec:  # noqa: A002
    made = _MAKES[kind]
    full = rng.randint(*made.full)
    sizes = {_FULL: full, _COMPRESSED: full // 2, _STRUCTURED: full // 4, _POINTER: rng.randint(3, 4)}
    tokens = {level: sizes[level] for level in kind.degradation_path}
    return PageSpec(id, kind, pin, made.floor, tokens, made.base_utility, rng.choice(made.recompute_costs), session)
