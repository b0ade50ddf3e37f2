"""Takes outcomes of routing decisions: `POST /outcomes`, as `pageturn outcome` does from a shell."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.own_endpoints import OwnAnswer
from pageturn.apps.gateway.routes.routed import Routed
from pageturn.values.errors import InvalidInput, StoreError, show

PATH = "/outcomes"
_WORDS = {"success": 1.0, "failure": 0.0}


Find = Callable[[Headers], Awaitable[Routed | OwnAnswer]]  # the routing that made the decisions, or why there is none


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """A reported outcome."""

    decision: str
    outcome: str | bool | float
    weak: bool = False
    correct: bool = False
    seconds: float | None = None
    money: float | None = None

    @property
    def grade(self) -> float:
        """The outcome as a number."""
        if isinstance(self.outcome, str):
            if self.outcome not in _WORDS:
                raise InvalidInput("outcome", expected="success, failure or a grade", got=show(self.outcome))
            return _WORDS[self.outcome]
        return float(self.outcome)


class Outcomes:
    """The endpoint."""

    def __init__(self, find: Find) -> None:
        self._find = find

    async def __call__(self, headers: Headers, body: bytes) -> OwnAnswer:
        """Count what is reported; the same twice counts once."""
        routed = await self._find(headers)
        if isinstance(routed, OwnAnswer):
            return routed
        try:
            report = msgspec.json.decode(body, type=Report)
            how: dict[str, Any] = {"is_weak": report.weak, "is_correction": report.correct}
            how |= {"seconds": report.seconds, "money": report.money}
            counted = await routed.observe(report.decision, report.grade, **how)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return OwnAnswer.error(400, f"expected {{decision, outcome}} as JSON, got something else: {error}")
        except InvalidInput as error:
            return OwnAnswer.error(404 if error.path == "decision" else 400, str(error))
        except (StoreError, OSError) as error:
            return OwnAnswer.error(503, f"the store failed ({type(error).__name__}); report it again later")
        return OwnAnswer.json(200, {"counted": counted})
