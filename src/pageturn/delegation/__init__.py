"""Delegation: who is good at what, how sure we are, and how that becomes a choice. Beside a session, never in its context."""

from pageturn.delegation.beliefs import Beliefs
from pageturn.delegation.decisions import Decision, Logged, Scored
from pageturn.delegation.modes import MODES, Mode, Thompson, UpperBound
from pageturn.delegation.posteriors import BetaPosterior, clamp_lambda
from pageturn.delegation.prices import Price
from pageturn.delegation.pruning import Pruned
from pageturn.delegation.quantiles import Interval
from pageturn.delegation.skills import CATALOGUE, Setting, setting
from pageturn.delegation.state import DelegationConfig, DelegationState

__all__ = [
    "CATALOGUE",
    "MODES",
    "Beliefs",
    "BetaPosterior",
    "Decision",
    "DelegationConfig",
    "DelegationState",
    "Interval",
    "Logged",
    "Mode",
    "Price",
    "Pruned",
    "Scored",
    "Setting",
    "Thompson",
    "UpperBound",
    "clamp_lambda",
    "setting",
]
