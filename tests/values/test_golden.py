"""Every serialised form of the five seeds, and of decisions, byte for byte. Files are added here, never edited."""

from pathlib import Path
from typing import Any

import pytest

import pageturn as pt
from pageturn.routing import Logged, Pruned
from pageturn.values.entries import Entry
from pageturn.values.messages import Part
from pageturn.values.proposals import Rejection

GOLDEN = Path(__file__).parents[1] / "golden"

TYPES: dict[str, Any] = {
    "beta_posterior": pt.BetaPosterior,
    "bucket": pt.Bucket,
    "context_message": pt.ContextMessage,
    "delegation_config": pt.DelegationConfig,
    "delegation_state": pt.DelegationState,
    "entry": Entry,
    "fault": pt.Fault,
    "logged": Logged,
    "message": pt.Message,
    "page_kinds": list[pt.PageKind],
    "policy": pt.DerivePolicy,
    "pruned": Pruned,
    "rejection": Rejection,
    "relevance_meta": pt.RelevanceMeta,
    "residency_levels": list[pt.ResidencyLevel],
}
FILES = sorted(GOLDEN.glob("*.json"))


def type_of(path: Path) -> Any:
    return next(kind for prefix, kind in TYPES.items() if path.stem.startswith(prefix))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_form_is_read_and_written_byte_for_byte(path):
    data = path.read_bytes()
    assert pt.to_json(pt.from_json(type_of(path), data)) == data


def test_every_kind_of_value_has_a_golden_form():
    assert {type_of(path) for path in FILES} == set(TYPES.values())


def test_every_fault_and_policy_and_part_has_a_golden_form():
    written = [pt.from_json(type_of(path), path.read_bytes()) for path in FILES]
    kinds = {type(value) for value in written} | {
        type(part) for value in written if isinstance(value, pt.Message) for part in value.content
    }
    assert set(pt.Fault.__subclasses__()) <= kinds
    assert {kind for kind in pt.DerivePolicy.__subclasses__() if kind.__module__.startswith("pageturn.")} <= kinds
    assert set(Part.__args__) <= kinds
