"""OracleReplay: the wire form of the policy that reads ahead. Its planner lives in the lab."""

from pageturn.policies.contract import DerivePolicy, Whole


class OracleReplay(DerivePolicy, tag="oracle_replay"):
    """Chooses with `lookahead` turns of future demand; for evaluation only."""

    lookahead: Whole
