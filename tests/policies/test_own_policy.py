"""A user's own policy: registered under a name, stored by it, and never trusted with a context."""

import random

import msgspec
import pytest

import pageturn as pt
from pageturn.policies import registry
from pageturn.policies.checked import CheckedPolicy
from pageturn.values.chosen_policy import StoredPolicy
from pageturn.values.entries import PolicyChosen
from pageturn.values.errors import BelowFloor, NotADegradation, PolicyError, UnknownPolicy
from pageturn.values.layout import Candidate, Why
from pageturn.values.pages import PageKind
from tests.context.checks import check_all
from tests.context.test_turns import work
from tests.policies.own import ErrorsFirst
from tests.policies.test_contract import EMPTY
from tests.sessions import journal_of, open_session, reopened, write_elsewhere

FULL, COMPRESSED, STRUCTURED, POINTER = pt.ResidencyLevel


@pytest.fixture
def names(monkeypatch):
    """The registry, which is as it was afterwards."""
    known = dict(registry._registered)
    monkeypatch.setattr(registry, "_registered", known)
    return known


def begin(policy, **options):
    session = open_session(policy=policy, **options)
    session.extend([pt.system("You are careful."), pt.user("Look through all of it.")])
    return session


# -- registered and stored


def test_it_is_opened_chosen_and_derived_by_and_stored_by_its_name_and_fields():
    session = begin(ErrorsFirst(3_000))
    contexts = work(session, 30)
    assert any(context.fold for context in contexts)
    assert all(context.budget_tokens == 3_000 for context in contexts)
    session.choose(pt.Paged())
    session.choose(ErrorsFirst(2_000))
    assert session.reader.policy == ErrorsFirst(2_000)
    bodies = [record.body for record, entry in journal_of(session).entries() if type(entry).__name__ == "PolicyChosen"]
    assert [msgspec.json.decode(body)["policy"] for body in bodies] == [
        {"policy": "errors_first_in_tests", "budget_tokens": 3_000},
        {"policy": "paged"},
        {"policy": "errors_first_in_tests", "budget_tokens": 2_000},
    ]


def test_it_is_there_again_where_its_name_is_registered_also_from_a_snapshot_and_in_a_fork():
    session = begin(ErrorsFirst(3_000))
    work(session, 20)
    journal_of(session).keep_snapshot()
    for other in (reopened(session), session.fork("other")):
        assert other.reader.policy == ErrorsFirst(3_000)
        assert pt.to_json(list(other.derive().messages)) == pt.to_json(list(session.derive().messages))


def test_where_its_name_is_unknown_the_session_is_read_and_only_what_needs_the_policy_is_refused(names):
    session = begin(ErrorsFirst(3_000))
    work(session, 5)
    for keeps_snapshot in (False, True):
        if keeps_snapshot:
            journal_of(session).keep_snapshot()
        del names["errors_first_in_tests"]
        other = reopened(session)
        assert list(other.reader.messages()) == list(session.reader.messages())
        page = other.reader.pages()[-1]
        assert other.resolve(page.handle).text
        assert other.recall("value_3").hits
        for refused in (other.derive, lambda other=other: other.reader.policy, lambda other=other: other.pin("Never.")):
            with pytest.raises(UnknownPolicy, match=r"'errors_first_in_tests', which is not registered") as error:
                refused()
            assert "register_policy('errors_first_in_tests')" in str(error.value)
            assert isinstance(error.value, pt.InvalidInput)
        other.append(pt.user("Go on."))
        other.undo(1)
        other.close()
        names["errors_first_in_tests"] = ErrorsFirst
        session.refresh()
        assert session.reader.policy == ErrorsFirst(3_000)
    assert session.derive().tokens <= 3_000


def test_where_its_name_is_unknown_another_policy_can_be_named(names):
    session = begin(ErrorsFirst(3_000))
    work(session, 5)
    del names["errors_first_in_tests"]
    other = reopened(session, policy=pt.Paged(4_000))
    assert other.reader.policy == pt.Paged(4_000)
    assert other.derive().budget_tokens == 4_000
    assert reopened(other).reader.policy == pt.Paged(4_000)


def test_where_its_fields_are_others_now_it_says_so(names):
    session = begin(ErrorsFirst(3_000))
    del names["errors_first_in_tests"]

    @pt.register_policy("errors_first_in_tests")
    class Changed(pt.DerivePolicy):
        share: float

        def plan(self, frame, least, tokens):
            return {}

    with pytest.raises(
        UnknownPolicy, match=r"'errors_first_in_tests', whose fields do not fit: .*(budget_tokens|share)"
    ):
        reopened(session).derive()
    assert list(reopened(session).reader.messages())


def test_a_policy_of_a_newer_pageturn_is_read_like_a_users_own():
    session = begin(pt.Paged())
    write_elsewhere(session, PolicyChosen(policy=StoredPolicy(policy="from_the_future", extra={"a": [1, {"b": None}]})))
    other = reopened(session)
    assert list(other.reader.messages())
    with pytest.raises(UnknownPolicy, match="from_the_future"):
        other.derive()


# -- names


def planning(**methods):
    """The body of a policy that plans nothing."""
    return {"plan": lambda self, frame, least, tokens: {}, "__module__": __name__, **methods}


def test_a_name_is_the_decorators_or_the_tag_of_the_class(names):
    @pt.register_policy
    class Tagged(pt.DerivePolicy, tag="by_its_tag"):
        def plan(self, frame, least, tokens):
            return {}

    @pt.register_policy("stingy_paged")
    class Stingy(pt.Paged):
        """Paged with less."""

    assert Tagged().kind == "by_its_tag"
    assert Stingy(5_000).kind == "stingy_paged"
    assert (Stingy.__name__, Stingy.__doc__) == ("Stingy", "Paged with less.")
    session = begin(Stingy(5_000))
    assert type(reopened(session).reader.policy) is Stingy


@pytest.mark.parametrize("name", ["legacy", "reset", "incremental", "paged", "oracle_replay"])
def test_a_built_in_name_is_not_shadowed(names, name):
    with pytest.raises(pt.InvalidInput, match="not built in"):
        pt.register_policy(name)(type("Mine", (pt.DerivePolicy,), planning()))
    with pytest.raises(pt.InvalidInput, match="not built in"):
        pt.register_policy(type("Mine", (pt.Paged,), planning()))  # its tag is that of its base


def test_a_name_that_is_taken_is_refused_but_a_class_may_be_run_again(names):
    other = type("Other", (pt.DerivePolicy,), planning())
    with pytest.raises(
        pt.InvalidInput, match=r"'errors_first_in_tests', which is registered for tests\.policies\.own\.Err"
    ):
        pt.register_policy("errors_first_in_tests")(other)
    again = type("Other", (pt.DerivePolicy,), planning())
    pt.register_policy("other")(other)
    assert pt.register_policy("other")(again) is names["other"]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (object, "a subclass of pageturn.DerivePolicy"),
        (pt.DerivePolicy, "a method `plan`"),
        (type("Idle", (pt.DerivePolicy,), {"__module__": __name__}), "a method `plan`"),
    ],
)
def test_what_is_no_policy_is_not_registered(names, what, expected):
    with pytest.raises(pt.InvalidInput, match=expected):
        pt.register_policy("idle")(what)


def test_a_name_is_some_text():
    for name in ("", " ", 5, None):
        with pytest.raises(pt.InvalidInput):
            pt.register_policy(name)


def test_a_policy_that_is_not_registered_is_refused_before_anything_is_written():
    class Stranger(pt.DerivePolicy):
        def plan(self, frame, least, tokens):
            return {}

    class Sly(pt.Paged):
        """Which would come back as Paged."""

    session = begin(pt.Paged())
    head = session.reader.head
    for policy in (Stranger(), Sly()):
        with pytest.raises(pt.InvalidInput, match="which is not registered"):
            session.choose(policy)
        with pytest.raises(pt.InvalidInput, match="which is not registered"):
            open_session(policy=policy, id="never")
    assert session.reader.head == head


def test_fields_that_do_not_come_back_from_json_are_refused(names):
    @pt.register_policy("odd")
    class Odd(pt.DerivePolicy):
        what: object = None

        def plan(self, frame, least, tokens):
            return {}

    for value in (object(), (1, 2), float("nan")):
        with pytest.raises(pt.InvalidInput):
            begin(Odd(value))


# -- what it answers is checked


def answering(names, **methods):
    """A session under a policy with these methods, some turns on, where a fold is due."""
    made = type("Bad", (pt.DerivePolicy,), planning(**methods))
    names.pop("bad", None)
    session = begin(pt.register_policy("bad")(made)())
    work(session, 6, derive=False)
    return session


UNKNOWN, NOT_A_LEVEL = "which is the first page of no unit", "which is no ResidencyLevel"


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (lambda self, frame, least, tokens: None, r"plan\(\) returned None, expected a mapping"),
        (lambda self, frame, least, tokens: [1, 2], r"plan\(\) returned \[1, 2\], expected a mapping"),
        (lambda self, frame, least, tokens: {10**9: FULL}, UNKNOWN),
        (lambda self, frame, least, tokens: {"p3-abcd": FULL}, UNKNOWN),
        (lambda self, frame, least, tokens: {True: FULL}, UNKNOWN),
        (lambda self, frame, least, tokens: {unit.first: "full" for unit in frame.candidates}, NOT_A_LEVEL),
        (lambda self, frame, least, tokens: {unit.first: None for unit in frame.candidates}, NOT_A_LEVEL),
        (lambda self, frame, least, tokens: 1 / 0, r"plan\(\) raised ZeroDivisionError"),
        (lambda self, frame, least: {}, r"plan\(\) raised TypeError"),
    ],
)
def test_a_plan_that_no_context_can_be_made_of_is_an_error_that_names_the_policy(names, plan, expected):
    session = answering(names, plan=plan)
    with pytest.raises(PolicyError, match=expected) as error:
        session.derive(budget_tokens=1_500)
    assert str(error.value).startswith("policy 'bad': ")
    assert error.value.policy == "bad"
    session.choose(pt.Paged())
    assert session.derive(budget_tokens=1_500).tokens <= 1_500


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("limit_tokens", None),
        ("limit_tokens", -1),
        ("limit_tokens", 1.5),
        ("limit_tokens", True),
        ("is_full", None),
        ("is_full", 1),
        ("pays", "yes"),
    ],
)
def test_other_answers_are_checked_too(names, method, answer):
    session = answering(names, **{method: lambda self, *_: answer})
    with pytest.raises(PolicyError, match=rf"policy 'bad': {method}\(\) returned {answer!r}"):
        session.derive()


def test_a_limit_above_what_the_model_takes_is_no_limit(names):
    session = answering(names, limit_tokens=lambda self, window: 10**9)
    assert session.derive(model="mistral-small").budget_tokens < 32_768


def test_levels_are_wanted_above_the_floor_or_not_at_all(names):
    """What would show a page below its floor is rejected, and not silently corrected."""
    low = lambda self, frame, least, tokens: {unit.first: POINTER for unit in frame.candidates}  # noqa: E731
    session = answering(names, plan=low)
    rule = session.reader.pages()[0].handle
    with pytest.raises(BelowFloor) as error:
        session.derive(budget_tokens=1_500)
    assert str(error.value) == (
        f"policy 'bad' wants {rule} lower: a bootstrap page stays at structured or above, so it cannot become pointer"
    )


FLOORS = [
    (Candidate(5, 5, {FULL: 9, STRUCTURED: 3}, STRUCTURED, why=Why.RULE, kind=PageKind.CONSTRAINT), POINTER),
    (Candidate(5, 5, {FULL: 9, STRUCTURED: 3}, STRUCTURED, why=Why.PLAN, kind=PageKind.PLAN), POINTER),
    (Candidate(5, 6, {FULL: 9}, FULL, why=Why.RULE, kind=PageKind.EVIDENCE), COMPRESSED),
    (Candidate(5, 6, {FULL: 9, COMPRESSED: 6, STRUCTURED: 3}, STRUCTURED, kind=PageKind.EVIDENCE), POINTER),
]


@pytest.mark.parametrize(("unit", "level"), FLOORS)
def test_every_floor_holds_whoever_promised_it(names, unit, level):
    asked = CheckedPolicy(fixed(names, {5: level}))
    frame = EMPTY._replace(items=[unit], handle=lambda first: f"p{first}-abcd")
    with pytest.raises(BelowFloor, match=rf"policy 'bad' wants p5-abcd lower: .*stays at {unit.floor} or above"):
        asked.plan(frame, {}, 0)


def fixed(names, wanted):
    names.pop("bad", None)
    return pt.register_policy("bad")(type("Bad", (pt.DerivePolicy,), planning(plan=lambda *_: wanted)))()


def test_a_level_that_a_unit_does_not_offer_is_refused_and_far_units_stand_in_lines_anyway(names):
    frame = EMPTY._replace(
        items=[Candidate(5, 5, {FULL: 9, POINTER: 3}, POINTER), Candidate(7, 7, {}, POINTER)],
        handle=lambda first: f"p{first}-abcd",
    )
    with pytest.raises(PolicyError, match=r"p5-abcd at structured, but it offers only full, pointer"):
        CheckedPolicy(fixed(names, {5: STRUCTURED})).plan(frame, {}, 0)
    rule = Candidate(5, 5, {FULL: 9}, STRUCTURED, kind=PageKind.BOOTSTRAP)
    with pytest.raises(NotADegradation, match="a bootstrap page visits full, structured"):
        CheckedPolicy(fixed(names, {5: COMPRESSED})).plan(frame._replace(items=[rule]), {}, 0)
    assert CheckedPolicy(fixed(names, {5: POINTER, 7: FULL})).plan(frame, {}, 0) == {5: POINTER}


def test_a_policy_cannot_change_what_it_is_shown(names):
    def spoil(self, frame, least, tokens):
        for unit in frame.candidates:
            for level in list(unit.sizes):
                unit.sizes[level] = 0
        frame.items.clear()
        frame.groups.clear()
        least.clear()
        return {}

    session = answering(names, plan=spoil)
    honest = answering(names, plan=lambda *_: {})
    for budget in (1_500, 3_000):
        spoiled, right = session.derive(budget_tokens=budget), honest.derive(budget_tokens=budget)
        assert (spoiled.tokens, spoiled.layout) == (right.tokens, right.layout)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_policy_wants_of_what_is_offered_the_laws_hold(names, seed):
    def anything(self, frame, least, tokens):
        chance = random.Random(f"{seed} {tokens} {len(frame.items)}")
        units = [unit for unit in frame.candidates if chance.random() < 0.7 and unit.sizes]
        chance.shuffle(units)
        return {unit.first: chance.choice([level for level in unit.sizes if level >= unit.floor]) for unit in units}

    recall = pt.RecallTool() if seed % 3 else None
    made = type("Bad", (pt.DerivePolicy,), planning(plan=anything, keeps_ledger=bool(seed % 2)))
    session = begin(pt.register_policy("bad")(made)(), recall=recall)
    session.pin("Never push to main.")
    session.derive()
    for number in range(15):
        work(session, 1, start=number, derive=False)
        context = session.derive(budget_tokens=4_000)
        check_all(session, context, 4_000)
        theirs = reopened(session, recall=recall).derive(budget_tokens=4_000)
        assert pt.to_json(list(theirs.messages)) == pt.to_json(list(context.messages))
