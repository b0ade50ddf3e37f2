"""A note is in the prompt exactly in the turns that the rule of cooldowns says, whatever its band, and what is shown once in one.

The model here knows the rule and which texts hold still, and nothing of how contexts are made.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pageturn as pt
from tests.context.checks import check_notes
from tests.context.notes import SESSION, SUFFIX, SYSTEM, Decision, Note, begun, grow, said
from tests.long import examples
from tests.sessions import reopened

POLICIES = (pt.Legacy(), pt.Reset(0), pt.Incremental(0), pt.Paged())


class Model:
    """Which notes there are, when each was last in the prompt, and which texts stand until the next fold."""

    def __init__(self):
        self.notes = {}
        self.texts = 0
        self.last = {}  # by key: the turn, and the text
        self.standing = set()
        self.turn = 0
        self.seen = {}  # the turns in which each text was in the prompt

    def note(self, key, target, cooldown, is_once, is_new):
        """The next note of a key, with a text that nobody said before, or with the one that it has."""
        if is_new or key not in self.notes:
            self.texts += 1
            content = f"text {self.texts}."
        else:
            content = self.notes[key].content
        self.notes[key] = Note(
            key=key, content=content, target=target, cooldown_turns=cooldown, consume_after_emit=is_once
        )
        return self.notes[key]

    def is_due(self, note):
        turn, text = self.last.get(note.key, (None, None))
        return turn is None or text != note.content or self.turn - turn > note.cooldown_turns

    def holds_still(self, note, context):
        return context.fold is None and note.content in self.standing

    def answer(self, context):
        """What has to be in a context, and what follows from that it was answered."""
        there = set(said(context))
        expected = {
            note.content for note in self.notes.values() if self.is_due(note) or self.holds_still(note, context)
        }
        still = self.standing if context.fold is None else set()
        texts = {f"text {number}." for number in range(1, self.texts + 1)}
        assert there & texts == expected | still
        held = {outcome.key for outcome in context.notes if outcome.decision is Decision.COOLDOWN}
        assert held == {note.key for note in self.notes.values() if note.content not in expected}
        self.standing = set(still)
        for key, note in list(self.notes.items()):
            came = note.content in expected and not self.holds_still(note, context)
            if came:
                self.last[key] = (self.turn, note.content)
            if came and note.consume_after_emit:
                del self.notes[key]
            elif came and note.target is not SUFFIX and not note.cooldown_turns:
                self.standing.add(note.content)
        for key, (_, text) in self.last.items():
            if text in there:
                self.last[key] = (self.turn, text)
        for text in there & texts:
            self.seen.setdefault(text, []).append(self.turn)
        self.turn += 1


notes = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from((SYSTEM, SESSION, SUFFIX)),
    st.sampled_from((0, 0, 1, 2, 5)),
    st.sampled_from((False, False, True)),
    st.booleans(),
)
steps = st.lists(
    st.one_of(notes, notes, st.sampled_from(("turn", "turn", "turn", "retry", "fold", "retract", "reopen"))),
    max_size=examples(40, whole=80),
)


@settings(max_examples=examples(150, whole=3_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.sampled_from(POLICIES))
def test_notes_are_in_the_prompt_exactly_when_the_rule_says(steps, policy):
    model, session, sent = Model(), begun(policy=policy), None
    for step in [*steps, "turn", "turn"]:
        match step:
            case "turn":
                context = session.derive()
                check_notes(session, context)
                model.answer(context)
                if sent is not None and context.fold is None:
                    kept = sent.bands.history
                    assert context.messages[:kept] == sent.messages[:kept]
                grow(session, model.turn, lines=2)
                sent = context
                assert {note.key: note for note in session.reader.notes} == model.notes
            case "retry":
                assert session.derive().messages == session.derive().messages
            case "fold":
                session.reset("We looked into it, and half of it is done.", force=True)
            case "retract":
                for key in list(model.notes)[:1]:
                    session.retract(key)
                    del model.notes[key]
            case "reopen":
                session = reopened(session)
            case _:
                session.inject(model.note(*step))


@settings(max_examples=examples(60, whole=1_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from((SYSTEM, SESSION, SUFFIX, "fold", None)), max_size=20), st.sampled_from(POLICIES))
def test_what_is_shown_once_is_in_exactly_one_prompt(steps, policy):
    session, sent = begun(policy=policy), []
    injected = 0
    for number, step in enumerate([*steps, None, None]):
        if step == "fold":
            session.reset("We looked into it, and half of it is done.", force=True)
        elif step is not None:
            injected += 1
            session.inject(Note(key=f"k{number}", content=f"once {injected}.", target=step, consume_after_emit=True))
        sent.append(said(session.derive()))
        session.append(pt.assistant("done"))
    for number in range(1, injected + 1):
        assert sum(texts.count(f"once {number}.") for texts in sent) == 1
