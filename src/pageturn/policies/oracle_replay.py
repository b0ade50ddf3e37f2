"""OracleReplay: the stored form of the policy that looks ahead. Its planner is in the lab."""

from typing import ClassVar

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.values.errors import InvalidInput


class OracleReplay(DerivePolicy, tag="oracle_replay"):
    """Chooses with `lookahead` turns of future demand; for evaluation only."""

    looks_ahead: ClassVar[bool] = True

    lookahead: Whole


def require_online(policy: DerivePolicy) -> None:
    """Raise `InvalidInput` for a policy that needs to know the next turns, which only the lab does."""
    if policy.looks_ahead:
        raise InvalidInput(
            "policy",
            expected="legacy, reset, incremental or paged",
            got=f"{policy.kind}, which only the lab can follow",
        )
