"""Pageturn decides what an LLM agent sees on each turn.

The names here are those of everyday use; everything else is imported from its room, as in
`from pageturn.values.messages import Thinking`.
"""

from pageturn.journal.reader import SessionReader, sessions
from pageturn.policies import DerivePolicy, Incremental, Legacy, Paged, Reset, register_policy
from pageturn.recall.hits import Recalled
from pageturn.recall.resolving import Resolved
from pageturn.routing import BetaPosterior, DelegationConfig, DelegationState
from pageturn.routing.router import Router
from pageturn.session import Session
from pageturn.values.context import Context
from pageturn.values.entries import Committed, Rejected, Waiting
from pageturn.values.errors import (
    BudgetTooSmall,
    Conflict,
    Damaged,
    InvalidInput,
    PageturnError,
    RuleUnreadable,
    StoreError,
)
from pageturn.values.faults import (
    BackendError,
    Denied,
    DuplicateTool,
    Fault,
    FlushMiss,
    NoMatch,
    PinnedInvariantMiss,
    PostCompactionBootstrap,
    Refetch,
)
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Image, Message, Role, ToolCall, Visibility, assistant, system, tool_result, user
from pageturn.values.notes import ContextMessage, ContextMessageTarget
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.plans import Plan
from pageturn.values.proposals import Proposal
from pageturn.values.recall_tool import RecallTool
from pageturn.values.relevance import Bucket, Dependency, Difficulty, RelevanceMeta, ToolUse
from pageturn.values.usage import Usage

__all__ = [
    "BackendError",
    "BetaPosterior",
    "Bucket",
    "BudgetTooSmall",
    "Committed",
    "Conflict",
    "Context",
    "ContextMessage",
    "ContextMessageTarget",
    "Damaged",
    "DelegationConfig",
    "DelegationState",
    "Denied",
    "Dependency",
    "DerivePolicy",
    "Difficulty",
    "DuplicateTool",
    "Fault",
    "FlushMiss",
    "Image",
    "Incremental",
    "InvalidInput",
    "Legacy",
    "Message",
    "NoMatch",
    "Page",
    "PageKind",
    "Paged",
    "PageturnError",
    "PinnedInvariantMiss",
    "Plan",
    "PostCompactionBootstrap",
    "Proposal",
    "RecallTool",
    "Recalled",
    "Refetch",
    "Rejected",
    "RelevanceMeta",
    "Reset",
    "ResidencyLevel",
    "Resolved",
    "Role",
    "Router",
    "RuleUnreadable",
    "Session",
    "SessionReader",
    "StoreError",
    "ToolCall",
    "ToolUse",
    "Usage",
    "Visibility",
    "Waiting",
    "assistant",
    "from_json",
    "register_policy",
    "sessions",
    "system",
    "to_json",
    "tool_result",
    "user",
]
