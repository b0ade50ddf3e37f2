"""A session against a simple model of itself: random acts, reopenings and forks never lose or invent anything."""

import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import pageturn as pt
from pageturn.stores import SqliteStore
from pageturn.values.entries import Committed
from tests.long import examples
from tests.sessions import call, open_session

words = st.text("abcdefgh ", min_size=1, max_size=12).filter(str.strip)


class Model:
    """What a session should come to: lists, and nothing clever."""

    def __init__(self):
        self.said = []  # (handle, text, turn that it belongs to)
        self.rules = {}  # handle -> text
        self.plan = None
        self.facts = []
        self.turns = 0

    def copy(self):
        other = Model()
        other.said, other.rules, other.plan = list(self.said), dict(self.rules), self.plan
        other.facts, other.turns = list(self.facts), self.turns
        return other


class SessionMachine(RuleBasedStateMachine):
    handles = Bundle("handles")

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(f"{self.folder.name}/s.db", durability="normal")
        self.session, self.model = open_session(self.store), Model()
        self.everything = {}  # every handle that was ever given out, with its text
        self.forks = 0

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    def remember(self, page, text):
        self.everything[self.session.id, page.handle] = text
        return page.handle

    @rule(target=handles, question=words, answer=words, number=st.integers(0, 99))
    def take_a_turn(self, question, answer, number):
        turn = self.model.turns = self.model.turns + 1
        asked = self.session.append(pt.user(question))
        replied, result = self.session.extend(
            [pt.assistant(answer, call(number)), pt.tool_result(f"c{number}", f"r{number}")]
        )
        self.model.said += [
            (self.remember(asked, question), question, turn),
            (self.remember(replied, answer), answer, turn),
            (self.remember(result, f"r{number}"), f"r{number}", turn),
        ]
        return result.handle

    @rule(text=words)
    def pin_a_text(self, text):
        page = self.session.pin(text)
        self.model.rules[self.remember(page, text)] = text

    @rule(goal=words, steps=st.lists(words, max_size=3))
    def make_a_plan(self, goal, steps):
        self.session.plan(goal, steps)
        self.model.plan = pt.Plan(goal=goal, steps=tuple(steps))

    @rule(handle=handles, fact=words)
    def write_back(self, handle, fact):
        outcome = self.session.write_back(pt.Proposal(field="memory.facts", value=fact, evidence=(handle,)))
        known = any(handle == said for said, _, _ in self.model.said)
        assert isinstance(outcome, Committed) is known
        self.model.facts += [fact] if known else []

    @rule(turns=st.integers(1, 3))
    def undo(self, turns):
        live = sorted({turn for _, _, turn in self.model.said if turn % 1 == 0})
        if turns > len(live):
            return
        self.session.undo(turns)
        self.model.said = [each for each in self.model.said if each[2] < live[-turns]]

    @rule()
    def fork(self):
        self.forks += 1
        self.session = self.session.fork(f"fork{self.forks}")
        self.everything = {(self.session.id, handle): text for (_, handle), text in self.everything.items()}

    @rule(summary=words)
    def reset(self, summary):
        page = self.session.reset(summary, force=True)
        turn = self.model.turns + 0.5  # between two turns
        self.model.said.append((self.remember(page, summary), summary, turn))

    @rule()
    def checkpoint(self):
        assert self.session.checkpoint() is None

    @rule()
    def crash_and_reopen(self):
        self.store.close()
        self.store = SqliteStore(self.store.path, durability="normal")
        self.session = open_session(self.store, id=self.session.id)

    @invariant()
    def the_session_is_what_the_model_says(self):
        if not hasattr(self, "session"):
            return
        state = self.session.reader.state()
        said = [
            page.handle
            for page in self.session.reader.pages()
            if page.kind in (pt.PageKind.CONVERSATION, pt.PageKind.EVIDENCE)
        ]
        assert said == [handle for handle, _, _ in self.model.said]
        assert [page.handle for page in self.session.reader.pages() if page.seq in state.pins] == list(self.model.rules)
        assert self.session.reader.plan == self.model.plan
        assert (self.session.reader.memory("facts") or []) == self.model.facts
        assert state.staged == {}

    @invariant()
    def nothing_that_was_ever_said_is_lost(self):
        for (_, handle), text in getattr(self, "everything", {}).items():
            resolved = self.session.resolve(handle)
            assert text in resolved.text


SessionMachine.TestCase.settings = settings(
    max_examples=examples(25, whole=400), stateful_step_count=examples(20, whole=50)
)
TestSession = SessionMachine.TestCase
