"""Acts: what a random session does, as plain data, so that a session that breaks a law can be cut down and read.

References to pages, calls, keys and sessions are numbers; the driver takes them modulo what there is.
"""

import random
from dataclasses import dataclass, field, replace
from typing import Any

import pageturn as pt
from tests.laws.own_policy import NewestFirst

MODELS = ("gpt-5", "claude-sonnet-4", "claude-opus-5-5", "gemini-3-pro", "mistral-small", "my-own-model")
NOTE_KEYS = ("a", "b", "c", "d")
FIELDS = ("summary", "compressed", "structured", "preference", "plan", "memory.facts")


@dataclass(frozen=True)
class Act:
    """One public operation, by the name of the driver's method."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


@dataclass(frozen=True)
class Plot:
    """A session to be: how it is opened, and what is done."""

    seed: int
    policy: pt.DerivePolicy
    model: str
    recall: bool
    budget: int
    acts: tuple[Act, ...]
    is_summarized: bool = False  # by a summarizer that copies sentences
    is_embedded: bool = False
    is_odd: bool = False  # with the acts of `odd_acts`

    @property
    def is_filed(self) -> bool:
        """Whether it is kept in a file, which takes longer."""
        return self.seed % 25 == 24

    def __str__(self) -> str:
        where = "a file" if self.is_filed else "memory"
        opened = f"{self.policy!r}, model={self.model!r}, recall={self.recall}, budget={self.budget}, in {where}"
        opened += ", with summaries" * self.is_summarized + ", with vectors" * self.is_embedded
        return "\n".join([f"{'odd ' * self.is_odd}seed {self.seed}: {opened}", *(f"  {act}" for act in self.acts)])


def plot(seed: int) -> Plot:
    """The session of a seed."""
    rng = random.Random(seed)
    model = rng.choice(MODELS)
    budget = rng.choice((900, 1_200, 1_600, 2_400, 4_000, 9_000)) + (600 if "claude" in model else 0)
    made = policy(rng, budget)
    drawn = _Drawing(rng, seed, is_rare=rng.random() < 0.5)
    drawn_plot = Plot(seed, made, model, rng.random() < 0.7, budget, tuple(drawn.acts(rng.choice((6, 12, 20, 32, 48)))))
    return _with_more(drawn_plot, random.Random(f"more {seed}"))


def _with_more(plot: Plot, rng: random.Random) -> Plot:
    """The same session with what came later: other prices of `Paged`, room, sessions that are searched too, summaries and vectors.

    Drawn apart, so that a seed keeps its acts.
    """
    made = plot.policy
    if isinstance(made, pt.Paged):
        made = rng.choice((made, pt.Paged.thrifty(made.budget_tokens), pt.Paged.faithful(made.budget_tokens)))
    acts = [_with_options(act, plot, rng) for act in plot.acts]
    return replace(
        plot, policy=made, acts=tuple(acts), is_summarized=rng.random() < 0.2, is_embedded=rng.random() < 0.1
    )


def _with_options(act: Act, plot: Plot, rng: random.Random) -> Act:
    if act.name == "derive" and rng.random() < 0.1:
        return Act("derive", {**act.args, "room": int(plot.budget * rng.choice((0.3, 0.6, 1.0)))})
    if act.name == "answer" and rng.random() < 0.5:
        return Act("answer", {"beside": True})
    return act


def policy(rng: random.Random, budget: int) -> pt.DerivePolicy:
    own = NewestFirst(budget_tokens=budget)
    return rng.choice(
        (pt.Legacy(), pt.Reset(budget), pt.Incremental(budget), pt.Paged(budget), pt.Paged(4 * budget), own)
    )


class _Drawing:
    """Draws acts one after the other: mostly an agent's turns, and between them everything else."""

    def __init__(self, rng: random.Random, seed: int, *, is_rare: bool) -> None:
        self._rng = rng
        self._salt = seed * 1_000
        self._is_rare = is_rare

    def acts(self, count: int) -> list[Act]:
        rng = self._rng
        drawn = [self._opening()] if rng.random() < 0.9 else []
        if rng.random() < 0.3:
            drawn.append(self._rule())
        drawn.append(self._say())
        while len(drawn) < count:
            drawn += self._turn()
            drawn += [self._other() for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
        drawn.append(Act("derive", self._asked()))
        return drawn

    def _turn(self) -> list[Act]:
        rng = self._rng
        turn = [Act("derive", self._asked())] if rng.random() < 0.92 else []
        if rng.random() < 0.15:
            turn.append(self._other())  # between a context and its answer
        turn.append(self._reply())
        if rng.random() < 0.15:
            turn.append(Act("answer"))
        return turn + [self._result() for _ in range(rng.choice((0, 1, 1, 1, 2)))]

    def _other(self) -> Act:
        common = (self._say, self._say, self._result, self._late, self._rule, self._note, self._asking)
        rare = (
            self._batch, self._unknown, self._again, self._pinning, self._pinning, self._unpin, self._plan, self._prefer,
            self._retract, self._recall, self._write_back, self._write_back, self._reset, self._fork, self._switch, self._undo,
            self._undo, self._erase, self._erase, self._set_system, self._choose, self._overflow, self._reopen, self._peer,
            self._developer, self._checkpoint, self._grant, self._clear_plan, self._wait, self._many, self._settle, self._twin, self._opening,
        )  # fmt: skip
        return self._rng.choice(rare if self._is_rare or self._rng.random() < 0.5 else common)()

    def salt(self) -> int:
        self._salt += 1
        return self._salt

    def _ref(self) -> int:
        return self._rng.randrange(10_000)

    def _lines(self) -> int:
        return self._rng.choice((1, 1, 2, 4, 8, 20, 20, 60, 150))

    def _asked(self) -> dict[str, Any]:
        rng = self._rng
        return {
            "tools": rng.choice((0, 0, 0, 0, 0, 0, 1, 2)),
            "model": rng.choice((None, None, None, None, None, None, None, rng.choice(MODELS))),
            "share": rng.choice((None, None, None, None, 1.0, 1.0, 0.7, 0.4, 0.1, 2.0)),
        }

    def _asking(self) -> Act:
        return Act("derive", self._asked())

    def _opening(self) -> Act:
        return Act(
            "system", {"salt": self.salt(), "lines": self._rng.choice((1, 2, 6)), "repeat": self._rng.random() < 0.2}
        )

    def _developer(self) -> Act:
        return Act("developer", {"salt": self.salt(), "lines": self._lines()})

    def _say(self) -> Act:
        kinds = ("talk", "talk", "talk", "task", "task", "paste", "mixed", "image", "file", "synthetic", "forged")
        return Act("say", {"salt": self.salt(), "kind": self._rng.choice(kinds), "lines": self._lines()})

    def _reply(self) -> Act:
        rng = self._rng
        return Act(
            "reply",
            {
                "salt": self.salt(),
                "lines": rng.choice((1, 1, 1, 3, 20)),
                "thinking": rng.choice((None, None, "signed", "signed", "redacted")),
                "calls": rng.choice((0, 1, 1, 1, 2, 3)),
                "ids": rng.choice(("new", "new", "new", "new", "new", "odd", "used")),
                "usage": rng.random() < 0.1,
                "asks": rng.choice((None, None, None, None, None, "handle", "range", "query")),
            },
        )

    def _result(self) -> Act:
        rng = self._rng
        return Act(
            "result",
            {
                "salt": self.salt(),
                "lines": self._lines(),
                "which": rng.choice(("all", "all", "first", "last")),
                "style": rng.choice(("text", "text", "text", "text", "error", "forged", "parts", "image", "empty")),
            },
        )

    def _late(self) -> Act:
        return Act("late", {"salt": self.salt(), "lines": self._lines(), "ref": self._ref()})

    def _unknown(self) -> Act:
        return Act("unknown", {"salt": self.salt(), "lines": self._lines()})

    def _again(self) -> Act:
        return Act("again", {"salt": self.salt(), "lines": self._lines(), "ref": self._ref()})

    def _batch(self) -> Act:
        return Act("batch", {"salt": self.salt(), "replies": self._rng.choice((1, 2, 3)), "lines": self._lines()})

    def _rule(self) -> Act:
        form = self._rng.random() < 0.3
        return Act("pin", {"salt": self.salt(), "lines": self._rng.choice((1, 1, 3, 12)), "form": form})

    def _pinning(self) -> Act:
        return Act("pin_page", {"salt": self.salt(), "ref": self._ref(), "form": self._rng.random() < 0.5})

    def _unpin(self) -> Act:
        return Act("unpin", {"ref": self._ref()})

    def _plan(self) -> Act:
        return Act("plan", {"salt": self.salt(), "steps": self._rng.choice((0, 2, 5))})

    def _prefer(self) -> Act:
        return Act("prefer", {"salt": self.salt(), "scope": self._rng.choice((None, None, "tests"))})

    def _note(self) -> Act:
        rng = self._rng
        return Act(
            "inject",
            {
                "salt": self.salt(),
                "key": rng.choice(NOTE_KEYS),
                "band": rng.choice(("system", "session", "suffix", "conversation_user", "conversation_system")),
                "lines": rng.choice((1, 1, 3)),
                "cooldown": rng.choice((0, 0, 0, 2)),
                "once": rng.random() < 0.2,
                "same": rng.random() < 0.3,
            },
        )

    def _retract(self) -> Act:
        return Act("retract", {"ref": self._ref(), "now": self._rng.random() < 0.6})

    def _recall(self) -> Act:
        return Act("recall", {"ref": self._ref()})

    def _write_back(self) -> Act:
        rng = self._rng
        return Act("write_back", {"salt": self.salt(), "field": rng.choice(FIELDS), "ref": self._ref(), "span": rng.choice((1, 2, 6)),
                                  "is_order": rng.random() < 0.1})  # fmt: skip

    def _settle(self) -> Act:
        return Act("settle", {"ref": self._ref(), "is_yes": self._rng.random() < 0.6})

    def _reset(self) -> Act:
        return Act("reset", {"salt": self.salt(), "lines": self._rng.choice((2, 8))})

    def _fork(self) -> Act:
        return Act("fork", {"go_on": self._rng.random() < 0.6})

    def _switch(self) -> Act:
        return Act("switch", {"ref": self._ref()})

    def _undo(self) -> Act:
        return Act("undo", {"turns": self._rng.choice((1, 1, 1, 2, 3))})

    def _erase(self) -> Act:
        return Act("erase", {"ref": self._ref()})

    def _set_system(self) -> Act:
        return Act("set_system", {"salt": self.salt(), "lines": self._rng.choice((1, 3))})

    def _choose(self) -> Act:
        return Act("choose", {"ref": self._ref()})

    def _overflow(self) -> Act:
        return Act("overflow", {"forgets": self._rng.random() < 0.5})

    def _reopen(self) -> Act:
        return Act("reopen", {"recall": self._rng.random() < 0.1})

    def _twin(self) -> Act:
        return Act("twin")

    def _peer(self) -> Act:
        return Act(
            "peer",
            {"salt": self.salt(), "does": self._rng.choice(("say", "erase", "erase", "pin")), "ref": self._ref()},
        )

    def _checkpoint(self) -> Act:
        return Act("checkpoint")

    def _wait(self) -> Act:
        return Act("wait")

    def _grant(self) -> Act:
        return Act("grant", {"allowed": self._rng.random() < 0.7})

    def _clear_plan(self) -> Act:
        return Act("clear_plan")

    def _many(self) -> Act:
        return Act("many", {"salt": self.salt(), "turns": self._rng.choice((4, 4, 34))})
