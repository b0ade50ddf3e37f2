"""Pageturn decides what an LLM agent sees on each turn."""

from pageturn.calibration import Calibration
from pageturn.delegation import Beliefs, BetaPosterior, Decision, DelegationConfig, DelegationState
from pageturn.derivation.context import Context, Explanation, Wish
from pageturn.derivation.weaving import NoteOutcome
from pageturn.entries import Committed, Rejected
from pageturn.errors import (
    BelowFloor,
    BudgetTooSmall,
    Conflict,
    InvalidInput,
    MissingTokenizer,
    ModelTooSmall,
    NotADegradation,
    NotScrubbed,
    PageturnError,
    StoreError,
    SummaryFailed,
)
from pageturn.faults import (
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
from pageturn.injection import ContextMessage, ContextMessageTarget, NoteDecision
from pageturn.layout import Layout, Placement
from pageturn.messages import (
    File,
    Image,
    Message,
    Native,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Visibility,
    assistant,
    developer,
    system,
    tool_result,
    user,
)
from pageturn.pages import Page, PageKind, ResidencyLevel, classify, classify_all
from pageturn.plans import Plan
from pageturn.policies import DerivePolicy, Incremental, Legacy, OracleReplay, Paged, Reset
from pageturn.proposals import Proposal
from pageturn.recall import Hit, Recalled, Resolved
from pageturn.recall_tool import RecallTool
from pageturn.relevance import (
    Bucket,
    Dependency,
    Difficulty,
    RelevanceMeta,
    ToolUse,
)
from pageturn.router import Price, Router
from pageturn.session import Session
from pageturn.summaries import (
    Extractive,
    HttpEndpoint,
    ModelSummarizer,
    Prepared,
    Summaries,
    Summarizer,
    SummaryRequest,
)
from pageturn.tokens import TokenCounter, counter_for
from pageturn.usage import Usage
from pageturn.windows import window_of
from pageturn.wire import from_json, to_json

__all__ = [
    "BackendError",
    "Beliefs",
    "BelowFloor",
    "BetaPosterior",
    "Bucket",
    "BudgetTooSmall",
    "Calibration",
    "Committed",
    "Conflict",
    "Context",
    "ContextMessage",
    "ContextMessageTarget",
    "Decision",
    "DelegationConfig",
    "DelegationState",
    "Denied",
    "Dependency",
    "DerivePolicy",
    "Difficulty",
    "DuplicateTool",
    "Explanation",
    "Extractive",
    "Fault",
    "File",
    "FlushMiss",
    "Hit",
    "HttpEndpoint",
    "Image",
    "Incremental",
    "InvalidInput",
    "Layout",
    "Legacy",
    "Message",
    "MissingTokenizer",
    "ModelSummarizer",
    "ModelTooSmall",
    "Native",
    "NoMatch",
    "NotADegradation",
    "NotScrubbed",
    "NoteDecision",
    "NoteOutcome",
    "OracleReplay",
    "Page",
    "PageKind",
    "Paged",
    "PageturnError",
    "Part",
    "PinnedInvariantMiss",
    "Placement",
    "Plan",
    "PostCompactionBootstrap",
    "Prepared",
    "Price",
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
    "Session",
    "StoreError",
    "Summaries",
    "Summarizer",
    "SummaryFailed",
    "SummaryRequest",
    "Text",
    "Thinking",
    "TokenCounter",
    "ToolCall",
    "ToolResult",
    "ToolUse",
    "Usage",
    "Visibility",
    "Wish",
    "assistant",
    "classify",
    "classify_all",
    "counter_for",
    "developer",
    "from_json",
    "system",
    "to_json",
    "tool_result",
    "user",
    "window_of",
]
