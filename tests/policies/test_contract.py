"""Policies as values: names, wire tags, limits for a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.journal.journal import Journal
from pageturn.lab import OracleReplay
from pageturn.policies import STORED_DEFAULT, AnyPolicy
from pageturn.stores import MemoryStore, SessionRow
from pageturn.tokens.windows import input_capacity
from pageturn.values.entries import PolicyChosen
from pageturn.values.layout import Frame
from tests.sessions import open_session, reopened, store_of, write_elsewhere

WINDOWS = st.integers(1, 3_000_000)


def test_the_kind_is_the_tag_on_the_wire():
    policies = [pt.Legacy(), pt.Reset(1), pt.Incremental(1), OracleReplay(3), pt.Paged(1)]
    kinds = [policy.kind for policy in policies]
    assert kinds == ["legacy", "reset", "incremental", "oracle_replay", "paged"]
    for policy in policies:
        assert f'"policy":"{policy.kind}"'.encode() in pt.to_json(policy)


def test_a_stored_session_that_names_no_policy_means_legacy():
    store = MemoryStore()
    row = SessionRow("old", b"k" * 16, 0)
    store.create(row)
    session = pt.Session(Journal(store, row))  # which, unlike `open`, writes no policy down
    session.append(pt.user("Fix it."))
    assert open_session(store, id="old").reader.policy == STORED_DEFAULT == pt.Legacy()
    assert open_session(store, id="new").reader.policy == pt.Paged()


def test_a_policy_that_was_stored_before_it_had_all_of_its_settings_is_read():
    assert pt.from_json(AnyPolicy, b'{"policy":"paged"}') == pt.Paged()
    assert pt.from_json(AnyPolicy, b'{"policy":"paged","budget_tokens":9000}') == pt.Paged(budget_tokens=9_000)


@given(WINDOWS)
def test_a_limit_of_zero_is_what_the_model_takes(window):
    capacity = input_capacity(window)
    for policy in (pt.Incremental(0), pt.Paged(), pt.Legacy(), OracleReplay(3)):
        assert policy.limit_tokens(window) == capacity


@given(WINDOWS, st.integers(1, 3_000_000))
def test_a_limit_is_kept_or_capped_by_what_the_model_takes(window, limit):
    expected = min(limit, input_capacity(window))
    for policy in (pt.Incremental(limit), pt.Paged(limit), pt.Reset(limit)):
        assert policy.limit_tokens(window) == expected


def test_a_threshold_of_zero_is_half_of_the_window():
    assert pt.Reset(0).limit_tokens(200_000) == 100_000


def test_the_base_is_no_policy():
    with pytest.raises(TypeError, match="use one of its members"):
        pt.DerivePolicy()


@pytest.mark.parametrize("tokens", [-1, 1.5, True, "16000", None])
def test_a_limit_that_is_not_a_whole_number_is_refused(tokens):
    for policy in (pt.Reset, pt.Incremental, pt.Paged, OracleReplay):
        with pytest.raises(pt.InvalidInput, match="expected a whole number, 0 or more"):
            policy(tokens)


EMPTY = Frame(
    [], 1_000, 0, 0, lambda line: 0, str, can_point=True, is_pressed=True, groups={}, is_running=True, is_warm=True
)


@pytest.mark.parametrize(
    "policy", [pt.Legacy(), pt.Reset(1), pt.Incremental(1), pt.Paged(1)], ids=lambda each: each.kind
)
def test_every_policy_plans_and_wants_nothing_where_there_is_nothing(policy):
    assert policy.plan(EMPTY, {}, 0) == {}


def test_the_policy_that_looks_ahead_is_refused_outside_the_lab():
    session = open_session()
    session.append(pt.user("go"))
    expected = r"policy: expected legacy, reset, incremental or paged, got oracle_replay, which only the lab can follow"
    with pytest.raises(pt.InvalidInput, match=expected):
        open_session(policy=OracleReplay(3), id="other")
    with pytest.raises(pt.InvalidInput, match=expected):
        session.choose(OracleReplay(3))
    write_elsewhere(session, PolicyChosen(policy=OracleReplay(3)))  # as another program may have stored it
    with pytest.raises(pt.InvalidInput, match=expected):
        reopened(session).derive()
    assert [row.id for row in store_of(session).sessions()] == ["s"]


def test_what_is_no_policy_is_refused():
    with pytest.raises(pt.InvalidInput, match="policy"):
        open_session(policy="paged")
    with pytest.raises(pt.InvalidInput, match="policy"):
        open_session().choose("paged")


def test_a_new_session_says_that_it_is_legacy_even_where_nothing_was_said_yet():
    session = open_session(policy=pt.Legacy())
    assert reopened(session).reader.policy == pt.Legacy()


@pytest.mark.parametrize("thrift", [0, 0.01, 0.05])
@pytest.mark.parametrize("miss_tokens", [0, 20_000, 80_000])
def test_a_stored_price_of_a_miss_holds_beside_settings_of_an_earlier_version(thrift, miss_tokens):
    stored = pt.from_json(AnyPolicy, f'{{"policy":"paged","miss_tokens":{miss_tokens},"thrift":{thrift}}}'.encode())
    for policy in (stored, pt.from_json(AnyPolicy, pt.to_json(stored))):
        assert policy.miss_tokens == miss_tokens
        assert f"miss_tokens={miss_tokens:,}" in policy.notices[0]


@pytest.mark.parametrize(("thrift", "miss_tokens"), [(0, 80_000), (0.01, 20_000), (0.05, 0)])
def test_a_policy_with_settings_of_an_earlier_version_opens_and_says_what_became_of_them(thrift, miss_tokens):
    stored = pt.from_json(AnyPolicy, f'{{"policy":"paged","budget_tokens":9000,"low":0.3,"thrift":{thrift}}}'.encode())
    assert stored.miss_tokens == miss_tokens
    assert pt.from_json(AnyPolicy, pt.to_json(stored)) == stored
    session = open_session(policy=stored)
    session.append(pt.user("go"))
    (notice,) = session.derive().notices
    assert f"thrift={thrift:g}" in notice
    assert f"miss_tokens={miss_tokens:,}" in notice
    assert reopened(session, policy=None).derive().notices == (notice,)


def test_the_three_names_are_prices_of_a_miss():
    assert pt.Paged(9_000).miss_tokens == 20_000
    assert pt.Paged.thrifty(9_000) == pt.Paged(budget_tokens=9_000, miss_tokens=0)
    assert pt.Paged.faithful(9_000) == pt.Paged(budget_tokens=9_000, miss_tokens=80_000)
    assert not pt.Paged.faithful(9_000).notices
