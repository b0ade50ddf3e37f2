"""Policies: choose what a context shows. `contract` is the base; each policy has a file.

Hosts choose one or register their own; the journal and the rooms above use them. They use tokens and values, keep no state, and
read no clock, random source or file.
"""

from pageturn.policies.contract import DerivePolicy
from pageturn.policies.incremental import Incremental
from pageturn.policies.legacy import STORED_DEFAULT, Legacy
from pageturn.policies.oracle_replay import OracleReplay, require_online
from pageturn.policies.paged import Paged
from pageturn.policies.registry import as_chosen, register_policy, require_registered, restored
from pageturn.policies.reset import Reset
from pageturn.values import chosen_policy as chosen

AnyPolicy = Legacy | Reset | Incremental | OracleReplay | Paged  # those that are built in

chosen.ChosenPolicy.built_in.update(
    {str(each.__struct_config__.tag): each for each in (Legacy, Reset, Incremental, OracleReplay, Paged)}
)

__all__ = [
    "STORED_DEFAULT",
    "AnyPolicy",
    "DerivePolicy",
    "Incremental",
    "Legacy",
    "OracleReplay",
    "Paged",
    "Reset",
    "as_chosen",
    "register_policy",
    "require_online",
    "require_registered",
    "restored",
]
