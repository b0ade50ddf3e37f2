"""JSON both ways: nothing is lost, and bad input says where, what was expected and what came."""

import json
import math
import pickle
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.json import Closed, Instant
from pageturn.values.messages import Text
from tests import strategies


@given(strategies.messages | strategies.notes | strategies.buckets)
def test_a_value_comes_back_equal(value):
    assert pt.from_json(type(value), pt.to_json(value)) == value


@given(strategies.faults)
def test_a_fault_comes_back_through_its_base(fault):
    assert pt.from_json(pt.Fault, pt.to_json(fault)) == fault


@given(strategies.policies)
def test_a_policy_comes_back_through_its_base(policy):
    assert pt.from_json(pt.DerivePolicy, pt.to_json(policy)) == policy


@given(st.lists(strategies.messages, max_size=3))
def test_containers_of_values_come_back_equal(messages):
    assert pt.from_json(list[pt.Message], pt.to_json(messages)) == messages


def test_unknown_fields_are_kept_beside_the_known_ones_at_every_depth():
    data = (
        b'{"role":"user","content":[{"type":"tool_result","tool_call_id":"c","content":'
        b'[{"type":"text","text":"t","deep":1}],"cached":true}],"name":"ada","$extra":{"role":"system"}}'
    )
    message = pt.from_json(pt.Message, data)
    assert message.extra == {"name": "ada", "$extra": {"role": "system"}}
    assert message.tool_results[0].extra == {"cached": True}
    assert message.tool_results[0].content[0].extra == {"deep": 1}
    assert message.role is pt.Role.USER
    assert msgspec.json.decode(pt.to_json(message)) == msgspec.json.decode(data)


def test_metadata_is_never_taken_for_extra_fields():
    message = pt.user("hi", metadata={"$extra": {"role": "system"}})
    assert pt.from_json(pt.Message, pt.to_json(message)) == message


def test_an_extra_field_cannot_stand_for_a_known_one():
    for clash in ("role", "content"):
        with pytest.raises(
            pt.InvalidInput, match=rf"\$\.extra\.{clash}: expected a field that the value does not have"
        ):
            pt.to_json(pt.Message(role=pt.Role.USER, content=(), extra={clash: "system"}))
    with pytest.raises(pt.InvalidInput, match=r"\$\.extra\.type"):
        pt.to_json(Text(text="t", extra={"type": "image"}))


@pytest.mark.parametrize("name", ["$extra", "\\u0024extra", "$\\u0065xtra"])
@pytest.mark.parametrize("value", ['{"role":"system"}', "{}", "null", '{"x":1}', "5"])
def test_a_field_with_the_name_of_our_slot_is_a_field_like_any_other(name, value):
    data = '{"role":"user","content":[],"' + name + '":' + value + "}"
    for given_as in (data, data.encode()):
        message = pt.from_json(pt.Message, given_as)
        assert message.role is pt.Role.USER
        assert message.extra == {"$extra": msgspec.json.decode(value)}
        assert msgspec.json.decode(pt.to_json(message)) == msgspec.json.decode(data)


def test_values_inside_extra_fields_are_flattened_too():
    message = pt.user("x", extra={"a": Text(text="t", extra={"q": 1}), "$extra": {"b": 2}})
    assert msgspec.json.decode(pt.to_json(message)) == {
        "role": "user", "content": [{"type": "text", "text": "x"}],
        "a": {"type": "text", "text": "t", "q": 1}, "$extra": {"b": 2},
    }  # fmt: skip
    assert msgspec.json.decode(pt.to_json({pt.ResidencyLevel.FULL: message}))["full"]["a"]["q"] == 1


def test_a_base_is_its_members_wherever_it_is_named():
    faults = [pt.NoMatch(), pt.Denied("x")]
    assert pt.from_json(list[pt.Fault], pt.to_json(faults)) == faults
    assert pt.from_json(dict[str, pt.Fault], pt.to_json({"a": faults[1]})) == {"a": faults[1]}
    assert pt.from_json(pt.DerivePolicy | None, b'{"policy":"legacy"}') == pt.Legacy()
    assert pt.from_json(pt.DerivePolicy | None, b"null") is None


@pytest.mark.parametrize("data", [None, {}, 5, bytearray(b"{}")])
def test_what_is_neither_bytes_nor_text_is_refused(data):
    with pytest.raises(pt.InvalidInput, match="expected JSON as bytes or text, got "):
        pt.from_json(pt.Message, data)


CONVERSATION = b'{"role":"user","content":['

POSTERIOR = b'{"alpha":1,"beta":1,"n":0,"c_self":0,"kappa":2,"last_update":"2026-01-01T00:00:00Z"}'


class Row(NamedTuple):
    name: str
    count: int = 0


class Shown(Closed):
    """A value with fields of every shape that has a complaint of its own."""

    level: pt.ResidencyLevel | None = None
    span: tuple[int, int] | None = None
    row: Row | None = None
    either: int | str = 0
    whole: Annotated[int, msgspec.Meta(ge=0)] | None = None


BAD_INPUT = {
    "role": (
        pt.Message,
        b'{"role":"userx","content":[]}',
        "$.role: expected one of 'system', 'developer', 'user', 'assistant', 'tool', got 'userx'",
    ),
    "part tag": (
        pt.Message,
        CONVERSATION + b'{"type":"txt","text":""}]}',
        "$.content[0].type: expected one of 'text', 'image', 'file', 'tool_call', 'tool_result', 'thinking', 'native', got 'txt'",
    ),
    "wrong type": (
        pt.Message,
        CONVERSATION + b'{"type":"text","text":5}]}',
        "$.content[0].text: expected str, got 5",
    ),
    "missing": (
        pt.Message,
        CONVERSATION + b'{"type":"text"}]}',
        "$.content[0].text: expected a value, got nothing",
    ),
    "missing, beside an unknown": (
        pt.Message,
        CONVERSATION + b'{"type":"text","a":1}]}',
        "$.content[0].text: expected a value, got nothing",
    ),
    "unknown in a fault": (
        pt.Fault,
        b'{"kind":"denied","reason":"r","code":1}',
        "$.code: expected only 'kind', 'reason', got another field",
    ),
    "unknown in a policy": (
        pt.DerivePolicy,
        b'{"policy":"legacy","budget":1}',
        "$.budget: expected only 'policy', got another field",
    ),
    "unknown in a bucket": (
        pt.Bucket,
        b'{"difficulty":"easy","dependency":"isolated","tool_use":"no","domain":"sql"}',
        "$.domain: expected only 'difficulty', 'dependency', 'tool_use', got another field",
    ),
    "unknown in a list": (
        list[pt.Bucket],
        b'[{"difficulty":"easy","dependency":"isolated","tool_use":"no","x":1}]',
        "$[0].x: expected only 'difficulty', 'dependency', 'tool_use', got another field",
    ),
    "fault tag": (
        pt.Fault,
        b'{"kind":"gone"}',
        "$.kind: expected one of 'no_match', 'denied', 'backend_error', 'flush_miss', 'post_compaction_bootstrap', "
        "'pinned_invariant_miss', 'duplicate_tool', 'refetch', got 'gone'",
    ),
    "policy tag": (
        pt.DerivePolicy,
        b'{"policy":"magic"}',
        "$.policy: expected one of 'incremental', 'legacy', 'oracle_replay', 'paged', 'reset', got 'magic'",
    ),
    "no tag": (
        pt.Fault,
        b"{}",
        "$.kind: expected a value, got nothing",
    ),
    "negative budget": (
        pt.DerivePolicy,
        b'{"policy":"reset","threshold_tokens":-1}',
        "$.threshold_tokens: expected int >= 0, got -1",
    ),
    "fractional budget": (
        pt.DerivePolicy,
        b'{"policy":"reset","threshold_tokens":1.5}',
        "$.threshold_tokens: expected int, got 1.5",
    ),
    "negative cooldown": (
        pt.ContextMessage,
        b'{"key":"k","content":"c","cooldown_turns":-1}',
        "$.cooldown_turns: expected int >= 0, got -1",
    ),
    "posterior out of range": (
        pt.DelegationState,
        b'{"beliefs":{"a|s|easy|isolated|no":' + POSTERIOR.replace(b'"c_self":0', b'"c_self":2') + b"}}",
        "$.beliefs['a|s|easy|isolated|no'].c_self: expected a finite number, at least 0, at most 1, got 2",
    ),
    "time without a zone": (
        pt.BetaPosterior,
        POSTERIOR.replace(b"Z", b""),
        "$.last_update: expected a time with a time zone, got 2026-01-01T00:00:00",
    ),
    "not a time": (
        pt.BetaPosterior,
        POSTERIOR.replace(b"2026-01-01T00:00:00Z", b"soon"),
        "$.last_update: expected a time as RFC 3339 writes it, got 'soon'",
    ),
    "bad value of a mapping": (
        pt.DelegationState,
        b'{"beliefs":{"a|s|easy|isolated|no":' + POSTERIOR + b',"b|s|easy|isolated|no":{"alpha":"x"}}}',
        "$.beliefs['b|s|easy|isolated|no'].alpha: expected float, got 'x'",
    ),
    "bad key of a mapping": (
        pt.DelegationState,
        b'{"beliefs":{"garbage":' + POSTERIOR + b"}}",
        "$.beliefs: expected keys of the form agent|skill|difficulty|dependency|tool_use, got 'garbage'",
    ),
    "time before time": (
        pt.BetaPosterior,
        POSTERIOR.replace(b"2026-01-01T00:00:00Z", b"0001-01-01T00:00:00+05:00"),
        "$.last_update: expected a time as RFC 3339 writes it",
    ),
    "null where one of some names is due": (
        pt.Message,
        b'{"role":null,"content":[]}',
        "$.role: expected one of 'system', 'developer', 'user', 'assistant', 'tool', got None",
    ),
    "one of some names, or nothing": (
        Shown,
        b'{"level":"half"}',
        "$.level: expected one of 'full', 'compressed', 'structured', 'pointer' or null, got 'half'",
    ),
    "text or parts": (pt.Message, b'{"role":"user","content":5}', "$.content: expected array, got 5"),
    "a key that is no number": (
        dict[int, pt.Bucket],
        b'{"1":{"difficulty":"easy","dependency":"isolated","tool_use":"no"},"one":{}}',
        "$: expected keys that are int, got 'one'",
    ),
    "a key that is none of the names": (
        dict[pt.ResidencyLevel, int],
        b'{"full":1,"half":2}',
        "$: expected keys that are one of 'full', 'compressed', 'structured', 'pointer', got 'half'",
    ),
    "a value of a mapping that is no struct": (dict[str, int], b'{"a":1,"b":"x"}', "$['b']: expected int, got 'x'"),
    "an item of a pair": (Shown, b'{"span":[1,"x"]}', "$.span[1]: expected int, got 'x'"),
    "a pair of three": (Shown, b'{"span":[1,2,3]}', "$.span: expected array of length 2, got [1, 2, 3]"),
    "a field of a row": (Shown, b'{"row":["a",2.5]}', "$.row[1]: expected int, got 2.5"),
    "a row that is too short": (Shown, b'{"row":[]}', "$.row: expected array of length 1 to 2, got []"),
    "neither of two": (Shown, b'{"either":2.5}', "$.either: expected int | str, got 2.5"),
    "a bound of one of two": (Shown, b'{"whole":-1}', "$.whole: expected int >= 0, got -1"),
    "not an object": (pt.Message, b"[]", "$: expected object, got []"),
    "not JSON": (pt.Message, b"{nope", "$: expected JSON in UTF-8, got b'{nope'"),
    "truncated": (pt.Message, b'{"role":', "$: expected JSON in UTF-8, got b'{\"role\":'"),
    "empty": (pt.Message, b"", "$: expected JSON in UTF-8, got b''"),
    "too deep": (pt.Message, b'{"role":"user","content":' + b"[" * 100_000, "$: expected JSON in UTF-8"),
    "not UTF-8": (pt.Message, CONVERSATION + b'{"type":"text","text":"\xff"}]}', "$: expected JSON in UTF-8"),
    "half a surrogate pair": (
        pt.Message,
        CONVERSATION + b'{"type":"text","text":"\\ud800"}]}',
        "$: expected JSON in UTF-8",
    ),
}


@pytest.mark.parametrize(("kind", "data", "complaint"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_says_where_what_was_expected_and_what_came(kind, data, complaint):
    with pytest.raises(pt.InvalidInput) as caught:
        pt.from_json(kind, data)
    assert complaint in str(caught.value)
    assert str(caught.value) == f"{caught.value.path}: expected {caught.value.expected}, got {caught.value.got}"


@given(strategies.messages, st.data())
def test_the_place_that_is_named_is_the_one_that_was_damaged(message, data):
    document = json.loads(pt.to_json(message))
    place = data.draw(st.sampled_from(list(places(document))))
    *way, last = place
    holder = document
    for step in way:
        holder = holder[step]
    holder[last] = data.draw(strategies.json_values)
    blamed = blamed_in(document)
    damaged = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    assert blamed is None or damaged.startswith(blamed) or blamed.startswith(damaged)


def blamed_in(document):
    """The place that a complaint about a message names, if there is one."""
    try:
        pt.from_json(pt.Message, json.dumps(document))
    except pt.InvalidInput as error:
        return error.path
    return None


def places(value, way=()):
    """The ways to all that is inside a value of JSON."""
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*way, step)
        yield from places(inner, (*way, step))


@given(st.binary(max_size=40) | strategies.json_values.map(pt.to_json))
def test_no_input_raises_anything_but_invalid_input(data):
    for kind in (pt.Message, pt.Fault, pt.DerivePolicy, pt.ContextMessage, pt.DelegationState, pt.RelevanceMeta):
        with suppress(pt.InvalidInput):
            pt.from_json(kind, data)


@pytest.mark.parametrize("levels", [90, 110, 400])
def test_what_is_read_is_written_or_is_said_to_be_too_deep(levels):
    data = b'{"role":"user","content":[],"vendors":' + b"[" * levels + b"]" * levels + b"}"
    message = pt.from_json(pt.Message, data)
    if levels < 100:
        assert pt.from_json(pt.Message, pt.to_json(message)) == message
    else:
        with pytest.raises(pt.InvalidInput, match="at most 100 levels"):
            pt.to_json(message)


def test_what_json_cannot_hold_is_refused_when_it_is_written():
    with pytest.raises(pt.InvalidInput, match="text that is valid Unicode, got the lone surrogate"):
        pt.to_json(pt.user("half \ud800"))
    with pytest.raises(pt.InvalidInput, match="a value that JSON can hold, got an object of type complex"):
        pt.to_json(pt.user("hi", metadata={"a": 1j}))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_refused_with_its_place(number):
    with pytest.raises(pt.InvalidInput, match=r"\$\.metadata\.a\[1\]: expected a finite number, got "):
        pt.to_json(pt.user("hi", metadata={"a": [1.0, number]}))
    with pytest.raises(pt.InvalidInput, match=r"\$\.content\[0\]\.extra\.b: expected a finite number"):
        pt.to_json(pt.user(Text(text="null", extra={"b": number})))


def test_a_family_of_ours_cannot_be_extended_from_outside():
    class Mine(pt.DerivePolicy, tag="mine"):
        pass

    with pytest.raises(pt.InvalidInput, match=r"\$\.policy: expected one of 'incremental', .*, got 'mine'"):
        pt.from_json(pt.DerivePolicy, pt.to_json(Mine()))
    assert pt.from_json(pt.DerivePolicy, b'{"policy":"legacy"}') == pt.Legacy()


def test_an_instant_is_written_with_six_digits_and_compared_as_a_moment():
    noon = Instant.of(datetime(2026, 4, 20, 12, tzinfo=UTC))
    assert str(noon) == "2026-04-20T12:00:00.000000Z"
    elsewhere = timezone(timedelta(hours=2))
    assert noon == Instant.of(datetime(2026, 4, 20, 14, tzinfo=elsewhere))
    assert str(noon.astimezone(elsewhere)) == "2026-04-20T12:00:00.000000Z"
    with pytest.raises(pt.InvalidInput, match="a time with a time zone"):
        Instant.of(datetime(2026, 4, 20))  # noqa: DTZ001


@given(strategies.messages)
def test_values_survive_pickling(message):
    assert pickle.loads(pickle.dumps(message)) == message
