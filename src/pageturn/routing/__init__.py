"""Routing: chooses an agent or a model by past outcomes. Its state is stored beside sessions and never shown in a context.

Hosts use it with or without a session; the session keeps its beliefs. It uses policies and below, and never the journal.
"""

from pageturn.routing.decisions import Decision, Logged, Outcome, Scored
from pageturn.routing.declared import Declared, read_declared
from pageturn.routing.limits import Limits
from pageturn.routing.modes import MODES, Mode, Thompson, UpperBound
from pageturn.routing.posteriors import BetaPosterior, clamp_lambda
from pageturn.routing.prices import Price
from pageturn.routing.pruning import Pruned
from pageturn.routing.quantiles import Interval
from pageturn.routing.skills import CATALOGUE, Setting, setting
from pageturn.routing.state import DelegationConfig, DelegationState
from pageturn.routing.stored_state import Beliefs

__all__ = [
    "CATALOGUE",
    "MODES",
    "Beliefs",
    "BetaPosterior",
    "Decision",
    "Declared",
    "DelegationConfig",
    "DelegationState",
    "Interval",
    "Limits",
    "Logged",
    "Mode",
    "Outcome",
    "Price",
    "Pruned",
    "Scored",
    "Setting",
    "Thompson",
    "UpperBound",
    "clamp_lambda",
    "read_declared",
    "setting",
]
