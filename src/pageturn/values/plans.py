"""Plans: the goal of an agent, in steps."""

from collections.abc import Iterable

from pageturn.values.checks import require_text, require_whole
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Open


class Plan(Open, kw_only=True):
    """A goal, its steps, and the step at hand (counted from 0; equal to the number of steps when all are done)."""

    goal: str
    steps: tuple[str, ...] = ()
    current: int = 0

    def __post_init__(self) -> None:
        require_text("$.goal", self.goal)
        if (
            isinstance(self.steps, str)
            or not isinstance(self.steps, Iterable)
            or not all(isinstance(step, str) for step in self.steps)
        ):
            raise InvalidInput("$.steps", expected="texts", got=show(self.steps))
        require_whole("$.current", self.current)
        if not 0 <= self.current <= len(self.steps):
            raise InvalidInput("$.current", expected=f"0 to {len(self.steps)}", got=show(self.current))

    @property
    def text(self) -> str:
        """The plan as the model reads it."""
        marks = ("x" if at < self.current else ">" if at == self.current else " " for at in range(len(self.steps)))
        return "\n".join([f"Goal: {self.goal}", *(f"[{m}] {step}" for m, step in zip(marks, self.steps, strict=True))])

    @property
    def structured(self) -> str:
        """Goal and current step: the structured form."""
        step = self.steps[self.current] if self.current < len(self.steps) else "all steps done"
        return f"Goal: {self.goal}\nNow: {step}" if self.steps else f"Goal: {self.goal}"
