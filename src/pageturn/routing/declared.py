"""Scores declared for agents before anything was observed: leaderboards, your own evaluations, a vendor's figures.

A declared score is an expected success rate. An agent's posterior starts as if a number of outcomes (its strength) had been seen, and
real outcomes outweigh it in time. A score that is right to within .2 is worth about twelve outcomes.
"""

import csv
from collections.abc import Mapping
from io import StringIO

from pageturn.routing.skills import MODEL_CALL
from pageturn.routing.stored_state import STRENGTH_OF_DECLARED
from pageturn.values.checks import require_finite, require_text
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed

_COLUMNS = ("agent", "score", "source", "skill", "bucket")


class Declared(Closed):
    """A score declared for an agent at a skill, in one bucket or in any."""

    agent: str
    score: float
    strength: float = STRENGTH_OF_DECLARED
    skill: str = MODEL_CALL
    bucket: str | None = None

    def __post_init__(self) -> None:
        require_finite("$.score", self.score, at_least=0.0, at_most=1.0)
        require_finite("$.strength", self.strength, at_least=0.0)


def read_declared(text: str, strengths: Mapping[str, float] | None = None) -> list[Declared]:
    """A table with the columns agent and score, and optionally source, skill and bucket.

    `strengths` gives the number of outcomes that a source counts for; a source that is not in it counts for twelve. A skill may name
    the axes of a bucket, as in `model_call@domain=sql`.
    """
    require_text("text", text)
    rows = csv.DictReader(StringIO(text))
    names = [name.strip() for name in rows.fieldnames or ()]
    if not {"agent", "score"} <= set(names) or not set(names) <= set(_COLUMNS):
        raise InvalidInput("line 1", expected=f"agent and score, and of {', '.join(_COLUMNS[2:])} any", got=show(names))
    rows.fieldnames = names
    return [_declared(row, f"line {at}", strengths or {}) for at, row in enumerate(rows, 2)]


def _declared(row: Mapping[str | None, str | None], where: str, strengths: Mapping[str, float]) -> Declared:
    cells = {name: (value or "").strip() for name, value in row.items() if isinstance(name, str)}
    try:
        score = float(cells["score"])
    except ValueError:
        raise InvalidInput(f"{where}, score", expected="a rate from 0 to 1", got=show(cells["score"])) from None
    strength = strengths.get(cells.get("source", ""), STRENGTH_OF_DECLARED)
    try:
        return Declared(cells["agent"], score, strength, cells.get("skill") or MODEL_CALL, cells.get("bucket") or None)
    except InvalidInput as error:
        raise InvalidInput(where, expected="a rate from 0 to 1, and a strength of 0 or more", got=str(error)) from error
