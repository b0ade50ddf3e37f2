"""Notes: defaults, bands on the wire, keys, and the cooldown rule."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.notes import Emission, throttle
from tests import strategies

Target = pt.ContextMessageTarget


def emitted_on(notes_by_turn):
    """The turns on which the notes came through."""
    ledger, turns = {}, []
    for turn, notes in enumerate(notes_by_turn):
        throttled = throttle(notes, ledger, turn)
        ledger = throttled.ledger
        if throttled.emitted:
            turns.append(turn)
    return turns


def test_key_and_content_alone_make_a_hidden_system_note():
    note = pt.from_json(pt.ContextMessage, b'{"key":"test","content":"hello"}')
    assert note == pt.ContextMessage.system("test", "hello")
    assert (note.role, note.visibility, note.cooldown_turns) == (pt.Role.SYSTEM, pt.Visibility.INTERNAL, 0)
    assert (note.target, note.consume_after_emit) == (Target.SYSTEM, False)


def test_all_fields_are_written_even_at_their_defaults():
    assert list(msgspec.json.decode(pt.to_json(pt.ContextMessage.system("k", "c")))) == [
        "key",
        "role",
        "content",
        "visibility",
        "cooldown_turns",
        "target",
        "consume_after_emit",
    ]


def test_unknown_fields_of_a_note_are_kept():
    data = b'{"key":"k","content":"c","persistent":true,"priority":-3}'
    note = pt.from_json(pt.ContextMessage, data)
    assert note.extra == {"persistent": True, "priority": -3}
    assert msgspec.json.decode(data).items() <= msgspec.json.decode(pt.to_json(note)).items()


@pytest.mark.parametrize("target", Target)
def test_a_target_is_snake_case_on_the_wire(target):
    note = pt.ContextMessage(key="k", content="c", target=target)
    assert f'"target":"{target.name.lower()}"'.encode() in pt.to_json(note)
    assert pt.from_json(pt.ContextMessage, pt.to_json(note)) == note


def test_constructors_choose_the_band():
    assert pt.ContextMessage.session("k", "c").target is Target.SESSION
    assert pt.ContextMessage.suffix_system("k", "c").target is Target.SUFFIX_SYSTEM
    assert pt.ContextMessage.session("k", "c", consume_after_emit=True).consume_after_emit
    assert pt.ContextMessage.system("k", "c", cooldown_turns=3).cooldown_turns == 3
    note = pt.ContextMessage.conversation("m", pt.Role.ASSISTANT, pt.Visibility.INTERNAL, "c")
    assert (note.target, note.role, note.visibility) == (Target.CONVERSATION, pt.Role.ASSISTANT, pt.Visibility.INTERNAL)


def test_conversation_notes_are_keyed_by_role_visibility_and_content():
    user = pt.ContextMessage.conversation_user("continue")
    assert (user.role, user.visibility) == (pt.Role.USER, pt.Visibility.ALL)
    hidden = pt.ContextMessage.conversation_internal_system("continue")
    assert (hidden.role, hidden.visibility) == (pt.Role.SYSTEM, pt.Visibility.INTERNAL)
    assert user.key == "conversation:fb1aea38b72a4e54"
    assert len({user.key, hidden.key, pt.ContextMessage.conversation_user("go on").key}) == 3


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"cooldown_turns": -1}, "cooldown_turns"),
        ({"cooldown_turns": 2**32}, "cooldown_turns"),
        ({"target": "top"}, "target"),
    ],
)
def test_a_note_of_the_wrong_form_is_refused(fields, where):
    with pytest.raises(pt.InvalidInput, match=rf"\$\.{where}: expected"):
        pt.ContextMessage(key="k", content="c", **fields)


@given(strategies.notes)
def test_only_a_prompt_note_of_every_turn_is_lasting(note):
    is_passing = note.cooldown_turns or note.consume_after_emit
    assert note.is_lasting is (note.target in (Target.SYSTEM, Target.SESSION) and not is_passing)


def test_half_a_surrogate_pair_has_a_key_too():
    assert pt.ContextMessage.conversation_user("\ud800").key.startswith("conversation:")


def test_a_reminder_is_a_tagged_hidden_conversation_note():
    assert pt.ContextMessage.system_reminder("stay") == pt.ContextMessage.conversation_internal_system(
        "<system-reminder>stay</system-reminder>"
    )


@given(strategies.notes)
def test_only_conversation_notes_are_outside_the_prompt_bands(note):
    assert note.is_prompt_injected is note.should_throttle is (note.target is not Target.CONVERSATION)


@given(strategies.notes)
def test_a_note_as_a_message_keeps_role_visibility_and_content(note):
    message = note.to_message("s1")
    assert (message.role, message.visibility, message.text) == (note.role, note.visibility, note.content)
    assert message.synthetic


def test_the_id_of_a_note_follows_from_session_key_and_content():
    def ident(session="s", key="k", content="c"):
        return pt.ContextMessage.system(key, content).to_message(session).id

    assert ident() == "acdb5cfc071f1505b501c55393d80e7d"
    assert len({ident(), ident(session="t"), ident(key="l"), ident(content="d")}) == 4
    assert ident(session="ab", key="c") != ident(session="a", key="bc")


def test_conversation_ignores_its_cooldown_and_leaves_no_trace():
    note = pt.ContextMessage(key="k", content="c", cooldown_turns=999, target=Target.CONVERSATION)
    assert emitted_on([[note]] * 3) == [0, 1, 2]
    assert throttle([note], {}, 0).ledger == {}


def test_a_first_note_always_passes():
    assert emitted_on([[pt.ContextMessage.system("k", "c", cooldown_turns=50)]]) == [0]


def test_no_cooldown_means_every_turn():
    assert emitted_on([[pt.ContextMessage.system("k", "c")]] * 4) == [0, 1, 2, 3]


@pytest.mark.parametrize(("cooldown", "turns"), [(3, [0, 4, 8]), (1, [0, 2, 4, 6, 8]), (8, [0])])
def test_a_cooldown_skips_that_many_turns(cooldown, turns):
    assert emitted_on([[pt.ContextMessage.system("k", "c", cooldown_turns=cooldown)]] * 9) == turns


def test_changed_text_passes_early_and_restarts_the_clock():
    old = pt.ContextMessage.system("k", "old", cooldown_turns=3)
    new = pt.ContextMessage.system("k", "new", cooldown_turns=3)
    assert emitted_on([[old], [old], *[[new]] * 7]) == [0, 2, 6]


def test_text_that_changes_back_passes_again():
    a, b = (pt.ContextMessage.system("k", text, cooldown_turns=9) for text in "ab")
    assert emitted_on([[a], [b], [a], [a]]) == [0, 1, 2]


def test_keys_cool_down_on_their_own():
    slow = pt.ContextMessage.system("slow", "c", cooldown_turns=3)
    quick = pt.ContextMessage.system("quick", "c", cooldown_turns=1)
    ledger, seen = {}, []
    for turn in range(5):
        throttled = throttle([slow, quick], ledger, turn)
        ledger = throttled.ledger
        seen.append([note.key for note in throttled.emitted])
    assert seen == [["slow", "quick"], [], ["quick"], [], ["slow", "quick"]]


def test_a_suppressed_note_does_not_restart_its_clock_and_may_vanish_meanwhile():
    note = pt.ContextMessage.system("k", "c", cooldown_turns=3)
    assert emitted_on([[note], [], [note], [], [note]]) == [0, 4]


def test_only_the_text_and_the_present_cooldown_decide():
    ledger = {"k": throttle([pt.ContextMessage.system("k", "c", cooldown_turns=9)], {}, 0).ledger["k"]}
    moved = pt.ContextMessage.session("k", "c", cooldown_turns=9, role=pt.Role.USER)
    assert throttle([moved], ledger, 1).suppressed == (moved,)
    eager = pt.ContextMessage.system("k", "c", cooldown_turns=0)
    assert throttle([eager], ledger, 1).emitted == (eager,)


@given(st.lists(strategies.notes, max_size=8), st.integers(0, 5))
def test_throttle_loses_nothing_and_changes_no_argument(notes, turn):
    ledger = {"a": Emission(0, "x")}
    throttled = throttle(notes, ledger, turn)
    assert ledger == {"a": Emission(0, "x")}
    assert sorted(map(id, throttled.emitted + throttled.suppressed)) == sorted(map(id, notes))
    assert not any(note.target is Target.CONVERSATION for note in throttled.suppressed)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pt.ContextMessage.system("k", None),
        lambda: pt.ContextMessage.session(3, "text"),
        lambda: pt.ContextMessage.conversation_user(None),
        lambda: pt.ContextMessage.conversation_internal_system(b"text"),
    ],
)
def test_a_key_or_a_content_that_is_no_text_is_refused_at_once(make):
    with pytest.raises(pt.InvalidInput, match="expected a str"):
        make()
