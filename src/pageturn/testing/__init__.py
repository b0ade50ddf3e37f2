"""Testing: conformance suites for your own policy, store, renderer, counter, embedder, reranker or summarizer, and fakes for tests.

    >>> from pageturn.policies import Reset
    >>> from pageturn.testing import check_policy
    >>> def test_my_policy() -> None:
    ...     check_policy(lambda budget: Reset(budget))  # or a policy of yours

Hosts' tests and ours use it; it uses the session and below, and no test framework.
"""

from pageturn.testing.cases import Case
from pageturn.testing.contexts import check_context
from pageturn.testing.counters import check_counter, counter_cases
from pageturn.testing.embedders import check_embedder, embedder_cases
from pageturn.testing.fakes import FailingStore, FixedClock, WordCounter, seeded
from pageturn.testing.policies import check_policy, policy_cases
from pageturn.testing.renderers import check_renderer, renderer_cases
from pageturn.testing.rerankers import check_reranker, reranker_cases
from pageturn.testing.sessions import Script, open_session
from pageturn.testing.sidecars import check_sidecars, sidecar_cases
from pageturn.testing.stores import check_store, maintained_store_cases, reopened_store_cases, store_cases
from pageturn.testing.summarizers import check_summarizer, summarizer_cases

__all__ = [
    "Case",
    "FailingStore",
    "FixedClock",
    "Script",
    "WordCounter",
    "check_context",
    "check_counter",
    "check_embedder",
    "check_policy",
    "check_renderer",
    "check_reranker",
    "check_sidecars",
    "check_store",
    "check_summarizer",
    "counter_cases",
    "embedder_cases",
    "maintained_store_cases",
    "open_session",
    "policy_cases",
    "renderer_cases",
    "reopened_store_cases",
    "reranker_cases",
    "seeded",
    "sidecar_cases",
    "store_cases",
    "summarizer_cases",
]
