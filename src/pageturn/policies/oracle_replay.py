"""OracleReplay: the wire form of the policy that reads ahead. Its planner lives in the lab; sessions refuse it."""

from pageturn.policies.contract import DerivePolicy, Tokens


class OracleReplay(DerivePolicy, frozen=True, tag="oracle_replay"):
    """Chooses with `lookahead` turns of future demand; for evaluation only."""

    lookahead: Tokens
