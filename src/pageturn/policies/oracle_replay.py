"""OracleReplay: the wire form of the policy that reads ahead. Its planner lives in the lab."""

from typing import ClassVar

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.values.errors import InvalidInput


class OracleReplay(DerivePolicy, tag="oracle_replay"):
    """Chooses with `lookahead` turns of future demand; for evaluation only."""

    looks_ahead: ClassVar[bool] = True

    lookahead: Whole


def require_online(policy: DerivePolicy) -> None:
    """Raise unless a session can follow the policy: nobody knows what comes next but a lab that has seen it."""
    if policy.looks_ahead:
        raise InvalidInput(
            "policy",
            expected="legacy, reset, incremental or paged",
            got=f"{policy.kind}, which only the lab can follow",
        )
