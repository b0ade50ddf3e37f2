"""Incremental: scores every unit against the task, then packs greedily (Liu et al., arXiv:2512.22087)."""

from typing import ClassVar

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.policies.packing import Kept
from pageturn.tokens.windows import budget_within
from pageturn.values.layout import Frame, Levels, Why
from pageturn.values.relevance import RelevanceMeta, merge

_PACKED = 0.6  # of the room above the floors: the rest is free until the next fold
_NEWEST = 3  # the newest units take at most this part of the budget
_FILE, _TOOL, _ERROR, _REFERENCE, _AGE = 4.0, 2.5, 3.0, 8.0, 0.05


class Incremental(DerivePolicy, tag="incremental"):
    """Task turn, pins and the newest units are kept; the rest competes by relevance for the budget.

    A budget of 0 is all that the model takes.
    """

    wishes_summaries: ClassVar[bool] = True

    budget_tokens: Whole

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.budget_tokens, window_tokens)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        kept = Kept(frame, least, tokens, _PACKED)
        kept.take_newest(frame.budget_tokens // _NEWEST)
        task = _signature(frame, {*least, *kept.levels})
        left = [unit for unit in kept.units if not kept.is_whole(unit)]
        ages = {unit.first: age for age, unit in enumerate(reversed(kept.units))}
        scores = {
            unit.first: score(frame.relevance(unit.first), task, unit.turn) - _AGE * ages[unit.first] for unit in left
        }
        kept.take(sorted(left, key=lambda unit: -scores[unit.first]))  # among equal ones the older first
        return kept.levels


def _signature(frame: Frame, kept: set[int]) -> RelevanceMeta:
    """What the task is about: what a person asked, and what was done about it last. A person calls no tools and rarely names files."""
    shown = (unit for unit in frame.candidates if unit.sizes and unit.first in kept)
    return merge(frame.relevance(unit.first) for unit in shown if unit.why is not Why.RULE)


def score(unit: RelevanceMeta, task: RelevanceMeta, turn: int = 0) -> float:
    """The relevance of a unit to the task: shared files, tools and errors, and whether its turn is named."""
    files = _names(unit) & _names(task)
    tools = {*unit.tools} & {*task.tools}
    errors = {*unit.error_classes} & {*task.error_classes}
    referred = _REFERENCE if turn in task.explicit_refs else 0.0
    return _FILE * len(files) + _TOOL * len(tools) + _ERROR * len(errors) + referred


def _names(meta: RelevanceMeta) -> set[str]:
    """Files by their names alone, since calls and people spell folders in different ways."""
    return {file.rpartition("/")[2] for file in meta.files}
