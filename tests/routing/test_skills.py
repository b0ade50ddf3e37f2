"""Skills: the catalogue, and axes of one's own as a part of the name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.routing import CATALOGUE, setting
from pageturn.routing.skills import ANY_BUCKET

HARD = pt.Bucket(pt.Difficulty.HARD, pt.Dependency.CHAINED, pt.ToolUse.YES)


def test_the_catalogue_is_the_seeds():
    assert {"model_call", "rlm_compact", "swarm_dispatch", "ralph_handoff", "autochat_persona"} == CATALOGUE


def test_a_bucket_of_the_seed_leaves_the_skill_alone():
    assert setting("model_call", HARD) == ("model_call", HARD)
    assert setting("model_call", None) == ("model_call", ANY_BUCKET)


def test_axes_of_ones_own_become_part_of_the_skill_in_one_order():
    one = setting("model_call", {"tool": "bash", "domain": "sql"})
    assert one == setting("model_call@tool=bash,domain=sql", None) == setting("model_call@domain=sql", {"tool": "bash"})
    assert one.skill == "model_call@domain=sql,tool=bash"
    assert one.base == "model_call"
    assert setting("model_call", "sql").skill == "model_call@bucket=sql"


def test_an_axis_is_said_once_or_alike():
    assert setting("model_call@domain=sql", {"domain": "sql"}).skill == "model_call@domain=sql"
    for skill, bucket in (("model_call@domain=sql", {"domain": "web"}), ("model_call@domain=sql,domain=web", None)):
        with pytest.raises(pt.InvalidInput, match=r"bucket\.domain: expected 'sql', as was said before, got 'web'"):
            setting(skill, bucket)


def test_the_seeds_axes_mean_the_same_in_the_name_of_a_skill():
    named = setting("model_call@difficulty=hard,domain=sql", None)
    assert named == setting("model_call", {"difficulty": "hard", "domain": "sql"})
    assert named.bucket.difficulty is pt.Difficulty.HARD


def test_the_seeds_own_axes_stay_in_the_bucket_where_their_values_are_the_seeds():
    found = setting("model_call", {"difficulty": "hard", "dependency": "banking", "tool_use": "yes", "note": ""})
    assert found.skill == "model_call@dependency=banking"
    assert found.bucket == pt.Bucket(pt.Difficulty.HARD, ANY_BUCKET.dependency, pt.ToolUse.YES)


def test_the_key_keeps_the_form_of_the_seed():
    where = setting("model_call", {"domain": "sql"})
    key = pt.DelegationState.key("openai/gpt-5", *where)
    assert key == "openai/gpt-5|model_call@domain=sql|easy|isolated|no"
    assert pt.from_json(pt.DelegationState, b'{"beliefs":{}}') == pt.DelegationState()


@pytest.mark.parametrize("skill", ["unknown", "Model_Call", "", None, 3, "model_call@", "model_call@sql", "model_call@a=b|c", "model_call@A=b"])  # fmt: skip
def test_a_skill_that_is_not_in_the_catalogue_is_refused(skill):
    with pytest.raises(pt.InvalidInput, match=r"skill|axis"):
        setting(skill, None)


@pytest.mark.parametrize(
    "bucket", [{"domain": 3}, {"domain": " "}, {"do main": "a"}, {3: "a"}, 7, {"domain": "a\n"}, {"domain": ["a"]}]
)
def test_what_is_no_bucket_is_refused(bucket):
    with pytest.raises(pt.InvalidInput, match="expected a"):
        setting("model_call", bucket)


@given(
    st.dictionaries(
        st.sampled_from(["domain", "tool", "dependency"]), st.text("ab|@,=%C2 ", min_size=1).filter(str.strip)
    ),
    st.data(),
)
def test_any_text_divides_a_skill_and_no_two_alike(axes, data):
    where = setting("model_call", axes)
    assert setting(where.skill, where.bucket) == where  # a skill that was written down is read as the same
    assert where.skill.count("|") == 0
    axis = data.draw(st.sampled_from(["domain", "tool"]))
    other = {**axes, axis: axes.get(axis, "") + data.draw(st.sampled_from(["|", "%7C", ",tool=a", "=", "@"]))}
    assert setting("model_call", other) != where


def test_what_is_not_said_does_not_divide():
    assert setting("model_call", {"domain": "sql", "note": "", "suite": None}).skill == "model_call@domain=sql"
