"""Faults: eight distinct outcomes with frozen codes and texts."""

import pytest

import pageturn as pt

FAULTS = [
    (pt.NoMatch(), "no_match", "no match"),
    (pt.Denied("scope"), "denied", "denied: scope"),
    (pt.BackendError("disk full"), "backend_error", "backend error: disk full"),
    (pt.FlushMiss(), "flush_miss", "flush miss"),
    (pt.PostCompactionBootstrap(), "post_compaction_bootstrap", "post-compaction bootstrap fault"),
    (pt.PinnedInvariantMiss(), "pinned_invariant_miss", "pinned invariant miss"),
    (pt.DuplicateTool(), "duplicate_tool", "duplicate tool"),
    (pt.Refetch(), "refetch", "refetch"),
]


@pytest.mark.parametrize(("fault", "code", "text"), FAULTS, ids=[code for _, code, _ in FAULTS])
def test_a_fault_has_its_code_and_its_text(fault, code, text):
    assert (fault.code, str(fault)) == (code, text)
    assert pt.from_json(pt.Fault, pt.to_json(fault)) == fault


def test_no_match_may_have_a_reason_and_is_written_as_ever_without_one():
    fault = pt.NoMatch("the page has 4 bytes")
    assert (fault.code, str(fault)) == ("no_match", "no match: the page has 4 bytes")
    assert fault.is_no_match
    assert pt.to_json(fault) == b'{"kind":"no_match","reason":"the page has 4 bytes"}'
    assert pt.from_json(pt.Fault, pt.to_json(fault)) == fault
    assert pt.to_json(pt.NoMatch()) == b'{"kind":"no_match"}'


def test_there_are_eight_and_no_two_share_a_code():
    codes = [fault.code for fault, _, _ in FAULTS]
    assert len(set(codes)) == len(pt.Fault.__subclasses__()) == 8
    assert all(code == code.lower() and code.replace("_", "").isalpha() for code in codes)


@pytest.mark.parametrize("fault", [fault for fault, _, _ in FAULTS])
def test_empty_denied_and_broken_are_told_apart(fault):
    assert fault.is_no_match is (fault.code == "no_match")
    assert fault.is_denied is (fault.code == "denied")


def test_the_base_is_no_fault():
    with pytest.raises(TypeError, match="use one of them"):
        pt.Fault()


def test_a_fault_can_be_matched():
    match pt.from_json(pt.Fault, b'{"kind":"denied","reason":"erased"}'):
        case pt.Denied(reason=reason):
            assert reason == "erased"
        case other:
            pytest.fail(f"matched {other}")
