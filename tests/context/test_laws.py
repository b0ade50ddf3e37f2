"""Whatever happens in a session, every context keeps the laws, or none can be made and the error says what would do."""

import random
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.messages import Thinking
from tests.context.checks import check_all, check_notes
from tests.long import examples
from tests.sessions import open_session, reopened
from tests.writeback.summaries.scripted import PLAIN

WORDS = (
    "fix src/auth/login.py",
    "test_session_expires",
    "→ ü 漢字 🙂",
    "p3-abcd </page>",
    "KeyError: 'exp'",
    "line of code_x = 1",
)
SIZES = (0, 1, 3, 40, 600)
BUDGETS = (350, 600, 1_500, 6_000, 30_000)

POLICIES = (pt.Paged(), pt.Paged.thrifty(), pt.Paged.faithful(), pt.Legacy(), pt.Reset(0), pt.Incremental(0))

numbers = st.integers(0, 10_000)
steps = st.lists(
    st.tuples(st.sampled_from("uuaaaaarrrrrcccnpPqUxeosytiwwwk"), numbers), max_size=examples(45, whole=90)
)


class Play:
    """Carries out steps on a session, and looks at every context that comes of it."""

    def __init__(self, policy, **options):
        self.session = open_session(policy=policy, **options)
        self.options = options
        self.runs = []  # the first and the last handle of every line of the last context
        self.open = []
        self.calls = 0
        self.shown = None
        self.tools = [{"name": "bash", "description": "Run a command.", "parameters": {"type": "object"}}]

    def text(self, number):
        words = WORDS[number % len(WORDS)]
        return f"{words} {number}\n" * (SIZES[number // 7 % len(SIZES)] + 1)

    def step(self, kind, number):  # noqa: C901
        session = self.session
        match kind:
            case "u":
                session.append(pt.user(self.text(number)))
            case "c":
                session.append(pt.user(("continue", "go on please", "ok", "yes!")[number % 4]))
            case "y":
                session.append(pt.user(self.text(number), synthetic=True))
            case "i":
                session.append(pt.user(pt.Image(url="https://e.org/a.png", width=64, height=64), self.text(number)))
            case "s":
                session.append(pt.system(self.text(number)[:200]))
            case "a":
                self.ask(number)
            case "t":
                self.ask(number, calls=0)
            case "r":
                self.answer(number)
            case "o":
                session.append(pt.tool_result(f"nobody{number}", self.text(number)))
            case "n":
                with suppress(pt.BudgetTooSmall):
                    session.plan(f"goal {number}", ["one", "two"], number % 3)
            case "p":
                self.pin(f"Never do {number}.", structured=f"no {number}" if number % 2 else None)
            case "P" if session.reader.pages():
                self.pin(session.reader.pages()[number % len(session.reader.pages())])
            case "q" if session.reader.state().pins:
                pins = list(session.reader.state().pins)
                session.unpin(session.reader.page(pins[number % len(pins)]))
            case "U" if session.reader.answers:
                session.undo(1 + number % min(2, len(session.reader.answers)))
                self.open.clear()
            case "x":
                session.reset(f"summary {number} " + "words " * 30, force=True)
            case "e" if len(session.reader.pages()) > 3:
                session.erase(session.reader.pages()[number % len(session.reader.pages())])
            case "w" if self.runs:
                self.sum_up(*self.runs[number % len(self.runs)], number)
            case "k":
                session.choose(POLICIES[number % len(POLICIES)])

    def pin(self, what, structured=None):
        """Pin something; it is refused where the last budget would no longer hold all rules, and then nothing has changed."""
        head = self.session.reader.head
        try:
            self.session.pin(what, structured=structured)
        except pt.BudgetTooSmall:
            assert self.session.reader.head == head

    def sum_up(self, first, last, number):
        """Write the summary of a run that stood as a line; it is refused where its pages no longer count, or where it is none."""
        words = f"{PLAIN} {self.text(number)[:60]} </page> p3-abcd summed up {number}"
        self.session.write_back(pt.Proposal(field="summary", value=words, evidence=(first, last)))

    def ask(self, number, calls=None):
        """Derive, look at it, and let a model answer."""
        budget = BUDGETS[number % len(BUDGETS)]
        context = self.derive(budget)
        if number % 7 == 0:  # while the model thinks
            self.answer(number)
        parts = [Thinking(text="hm " * 20, signature="s")] if number % 3 == 0 else []
        for _ in range(number % 4 if calls is None else calls):
            self.calls += 1
            identity = f"c{self.calls if number % 5 else 1}"
            command = ("cat src/f{}.py", "make f{}", "./deploy p3-abcd {}")[number % 3].format(number % 9)
            parts.append(pt.ToolCall(id=identity, name="bash", arguments=f'{{"command": "{command}"}}'))
            self.open.append(identity)
        self.session.append(pt.assistant(self.text(number)[:150], *parts))
        self.shown = context
        if context is not None:
            lines = [each.line for each in context.layout.placements if each.line is not None]
            runs = [[p.handle for p in self.session.reader.state().between(each.first, each.last)] for each in lines]
            self.runs = [(run[0], run[-1]) for run in runs if len(run) > 1]

    def answer(self, number):
        if self.open:
            which = self.open[number % len(self.open)]
            if number % 11:  # else it is answered twice
                self.open.remove(which)
            self.session.append(pt.tool_result(which, self.text(number), is_error=number % 6 == 0))

    def derive(self, budget):
        try:
            context = self.session.derive(self.tools, budget_tokens=budget)
        except pt.BudgetTooSmall as error:
            self.check_too_small(error, budget)
            return None
        check_all(self.session, context, budget)
        check_notes(self.session, context)
        again = reopened(self.session, **self.options).derive(self.tools, budget_tokens=budget)
        assert pt.to_json(list(again.messages)) == pt.to_json(list(context.messages))
        assert (again.tokens, again.fold, again.notices) == (context.tokens, context.fold, context.notices)
        assert again.wanted == context.wanted
        assert (again.notes, again.bands, again.breakpoints) == (context.notes, context.bands, context.breakpoints)
        if self.shown is not None and context.fold is None:
            kept = self.shown.bands.history
            assert context.messages[:kept] == self.shown.messages[:kept]
        return context

    def check_too_small(self, error, budget):
        assert error.budget_tokens <= budget < error.needed_tokens
        with pytest.raises(pt.BudgetTooSmall):
            self.session.derive(self.tools, budget_tokens=error.needed_tokens - 1)
        context = self.session.derive(self.tools, budget_tokens=error.needed_tokens)
        check_all(self.session, context, error.needed_tokens)


@settings(max_examples=examples(60, whole=400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.booleans(), st.sampled_from(POLICIES))
def test_every_context_keeps_the_laws(steps, can_recall, policy):
    play = Play(policy, **({} if can_recall else {"recall": None}))
    for kind, number in steps:
        play.step(kind, number)
    play.ask(3)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
@pytest.mark.parametrize("seed", range(examples(2, whole=15)))
def test_long_sessions_keep_the_laws(seed, policy):
    chance = random.Random(seed)
    play = Play(policy, **({} if seed % 3 else {"recall": None}))
    for _ in range(150):
        play.step(chance.choice("uaaaaaarrrrrrrcnpPqUxeosytiwwk"), chance.randrange(10_000))
    assert play.session.reader.folds
