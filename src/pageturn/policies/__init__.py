"""The derivation policies, one file each."""

from pageturn.policies.contract import DerivePolicy
from pageturn.policies.incremental import Incremental
from pageturn.policies.legacy import STORED_DEFAULT, Legacy
from pageturn.policies.oracle_replay import OracleReplay, require_online
from pageturn.policies.paged import Paged
from pageturn.policies.reset import Reset

AnyPolicy = Legacy | Reset | Incremental | OracleReplay | Paged

__all__ = [
    "STORED_DEFAULT",
    "AnyPolicy",
    "DerivePolicy",
    "Incremental",
    "Legacy",
    "OracleReplay",
    "Paged",
    "Reset",
    "require_online",
]
