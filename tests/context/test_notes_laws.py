"""Whatever is injected, retracted, undone, forked and reset: notes keep the laws, and what was sent does not move between folds."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.notes import NoteDecision
from tests.context.test_laws import POLICIES, Play
from tests.long import examples
from tests.sessions import forked

Target = pt.ContextMessageTarget
KEYS = "abcdef"
BANDS = (Target.SYSTEM, Target.SESSION, Target.SUFFIX_SYSTEM, Target.SYSTEM)
ROLES = (pt.Role.SYSTEM, pt.Role.SYSTEM, pt.Role.USER, pt.Role.ASSISTANT, pt.Role.DEVELOPER, pt.Role.TOOL)
SIZES = (1, 2, 30, 400, 0)


def note_of(number):
    """A note that differs from number to number in everything that a note can differ in."""
    return pt.ContextMessage(
        key=KEYS[number % len(KEYS)],
        content=f"note {number % 3}. " * SIZES[number // 6 % len(SIZES)],
        target=BANDS[number // 30 % len(BANDS)],
        role=ROLES[number // 7 % len(ROLES)],
        cooldown_turns=(0, 0, 2, 0, 0, 1, 0, 3)[number // 11 % 8],
        consume_after_emit=number // 13 % 6 == 0,
    )


class NotedPlay(Play):
    """A play with notes: steps on them are digits, the others are those of the play."""

    def __init__(self, policy, **options):
        super().__init__(policy, **options)
        self.forks = 0

    def step(self, kind, number):
        match kind:
            case "1" | "2" | "3":
                self.session.inject(note_of(number))
            case "4" if self.session.reader.notes:
                keys = [note.key for note in self.session.reader.notes]
                self.session.retract(keys[number % len(keys)], now=number % 3 == 0)
            case "5":
                self.derive((600, 6_000)[number % 2])  # a call that fails: nobody answers
            case "6":
                self.forks += 1
                self.session = forked(self.session, f"fork{self.forks}")
            case "7":
                self.session.inject(pt.ContextMessage.conversation_internal_system(self.text(number)))
            case "8":
                self.ask_with_news(number)
            case "9":
                self.answer_an_older_context(number)
            case "0" if self.runs:
                self.ask_with_a_summary(number)
            case _:
                super().step(kind, number)

    def answer_an_older_context(self, number):
        """The answer is to the last context that could be made, and something was said since."""
        context = self.derive(6_000)
        self.session.append(pt.user(self.text(number)))
        with pytest.raises(pt.BudgetTooSmall):
            self.session.derive(self.tools, budget_tokens=20)
        self.session.append(pt.assistant("done"))
        self.shown = context

    def ask_with_news(self, number):
        """While the model thinks, somebody changes the notes."""
        context = self.derive(6_000)
        self.session.inject(note_of(number))
        if number % 2:
            self.session.retract(note_of(number).key, now=number % 4 == 1)
        self.session.append(pt.assistant("done"))
        self.shown = context

    def ask_with_a_summary(self, number):
        """While the model thinks, a summary is written."""
        context = self.derive(6_000)
        self.sum_up(*self.runs[number % len(self.runs)], number)
        self.session.append(pt.assistant("done"))
        self.shown = context


steps = st.lists(
    st.tuples(st.sampled_from("uaaaaarrrcseUxptPowwk1111234567890"), st.integers(0, 10_000)),
    max_size=examples(40, whole=90),
)


@settings(max_examples=examples(60, whole=400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.booleans(), st.sampled_from(POLICIES))
def test_every_context_with_notes_keeps_the_laws(steps, can_recall, policy):
    play = NotedPlay(policy, **({} if can_recall else {"recall": None}))
    for kind, number in steps:
        play.step(kind, number)
    play.ask(3)


def play_long(seed, policy):
    """A long session; the decisions that its contexts told."""
    chance = random.Random(seed)
    play = NotedPlay(policy, **({} if seed % 3 else {"recall": None}))
    decisions = set()
    for _ in range(150):
        play.step(chance.choice("uaaaaaaarrrrrceUxptPowwk11111234567890"), chance.randrange(10_000))
        if play.shown is not None:
            decisions.update(outcome.decision for outcome in play.shown.notes)
    assert play.session.reader.folds
    return decisions


@pytest.mark.parametrize("seed", range(3, examples(7, whole=24)))
def test_long_sessions_with_notes_keep_the_laws(seed):
    play_long(seed, POLICIES[seed % len(POLICIES)])


def test_these_sessions_have_everything_in_them():
    assert play_long(1, POLICIES[0]) | play_long(6, POLICIES[0]) == set(NoteDecision)
