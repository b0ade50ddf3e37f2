"""Pages: the classifier, the degradation table, and steps that are refused."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn import PageKind, ResidencyLevel
from pageturn.values.errors import BelowFloor, NotADegradation
from pageturn.values.messages import Text, ToolResult, developer
from pageturn.values.pages import classify, classify_all, degrade
from tests import strategies

KINDS = st.sampled_from(PageKind)
LEVELS = st.sampled_from(ResidencyLevel)


def test_a_system_message_is_bootstrap():
    assert classify(pt.system("you are")) is PageKind.BOOTSTRAP


@pytest.mark.parametrize("role", [role for role in pt.Role if role is not pt.Role.SYSTEM])
def test_a_tool_result_is_evidence_in_any_other_role(role):
    result = ToolResult(tool_call_id="c", content="out")
    assert classify(pt.Message(role=role, content=(Text(text="see"), result))) is PageKind.EVIDENCE


def test_a_tool_message_is_evidence_even_without_a_result():
    assert classify(pt.Message(role=pt.Role.TOOL, content=())) is PageKind.EVIDENCE


@pytest.mark.parametrize("message", [pt.user("hi"), pt.assistant("hi"), developer("hi")])
def test_everything_else_is_conversation(message):
    assert classify(message) is PageKind.CONVERSATION


def test_developer_messages_of_the_opening_run_are_bootstrap():
    session = [pt.system("a"), developer("b"), pt.system("c"), pt.user("d"), developer("nudge")]
    assert classify_all(session) == (PageKind.BOOTSTRAP,) * 3 + (PageKind.CONVERSATION,) * 2


def test_a_session_of_developer_messages_only_is_all_bootstrap():
    assert classify_all([developer("a"), developer("b")]) == (PageKind.BOOTSTRAP,) * 2


@given(st.lists(strategies.messages, max_size=6))
def test_classify_all_is_parallel_and_lifts_only_developer_messages(messages):
    kinds = classify_all(messages)
    assert len(kinds) == len(messages)
    for message, kind in zip(messages, kinds, strict=True):
        assert kind is classify(message) or (kind is PageKind.BOOTSTRAP and message.role is pt.Role.DEVELOPER)


@given(strategies.messages)
def test_no_classifier_guesses_a_promise(message):
    assert classify(message) not in (PageKind.CONSTRAINT, PageKind.PLAN, PageKind.PREFERENCE)


def test_the_levels_are_ordered_by_fidelity():
    full, compressed, structured, pointer = ResidencyLevel
    assert full > compressed > structured > pointer
    assert sorted(ResidencyLevel, reverse=True) == list(ResidencyLevel)
    with pytest.raises(TypeError):
        assert full > "pointer"


@pytest.mark.parametrize("kind", PageKind)
def test_every_path_starts_at_full_ends_at_the_floor_and_only_sinks(kind):
    path = kind.degradation_path
    assert path[0] is ResidencyLevel.FULL
    assert path[-1] is kind.min_fidelity
    assert all(above > below for above, below in pairwise(path))


def test_the_table_is_the_seeds():
    everything = ["full", "compressed", "structured", "pointer"]
    assert {kind.value: [level.value for level in kind.degradation_path] for kind in PageKind} == {
        "bootstrap": ["full", "structured"],
        "constraint": ["full", "structured"],
        "plan": ["full", "structured", "pointer"],
        "preference": everything,
        "evidence": everything,
        "conversation": everything,
    }


def test_a_developer_message_after_a_late_system_message_is_conversation():
    kinds = classify_all([pt.user("a"), pt.system("b"), developer("c")])
    assert [kind.value for kind in kinds] == ["conversation", "bootstrap", "conversation"]


def test_rules_never_sink_below_structured():
    for kind in (PageKind.BOOTSTRAP, PageKind.CONSTRAINT):
        assert kind.min_fidelity is ResidencyLevel.STRUCTURED
        assert ResidencyLevel.COMPRESSED not in kind.degradation_path


def test_the_other_kinds_sink_to_a_pointer():
    for kind in set(PageKind) - {PageKind.BOOTSTRAP, PageKind.CONSTRAINT}:
        assert kind.min_fidelity is ResidencyLevel.POINTER
    assert ResidencyLevel.COMPRESSED not in PageKind.PLAN.degradation_path


@pytest.mark.parametrize("kind", [PageKind.BOOTSTRAP, PageKind.CONSTRAINT])
def test_a_step_below_the_floor_is_refused(kind):
    with pytest.raises(BelowFloor, match=f"a {kind} page stays at structured or above"):
        degrade(kind, ResidencyLevel.FULL, ResidencyLevel.POINTER)


@given(KINDS, LEVELS, LEVELS)
def test_degrade_allows_exactly_the_steps_down_the_path(kind, start, end):
    path = kind.degradation_path
    allowed = start in path and end in path and end <= start
    if allowed:
        assert degrade(kind, start, end) is end
    else:
        with pytest.raises(NotADegradation):
            degrade(kind, start, end)


def test_only_a_target_below_the_floor_is_called_so():
    for kind, end in product(PageKind, ResidencyLevel):
        try:
            degrade(kind, ResidencyLevel.FULL, end)
        except BelowFloor:
            assert end < kind.min_fidelity
        except NotADegradation:
            assert end >= kind.min_fidelity
