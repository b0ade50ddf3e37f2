"""Summaries: texts that stand for pages in a row, written beside the turns of a session and admitted by writeback."""

from pageturn.summaries.contract import Stop, Summarizer, SummaryRequest, require_summarizer
from pageturn.summaries.endpoints import Dialect, HttpEndpoint
from pageturn.summaries.extractive import Extractive
from pageturn.summaries.model import Endpoint, ModelSummarizer
from pageturn.summaries.preparing import Prepared, Summaries
from pageturn.summaries.routed import RoutedSummarizer
from pageturn.summaries.runs import Run, runs_ahead

__all__ = [
    "Dialect",
    "Endpoint",
    "Extractive",
    "HttpEndpoint",
    "ModelSummarizer",
    "Prepared",
    "RoutedSummarizer",
    "Run",
    "Stop",
    "Summaries",
    "Summarizer",
    "SummaryRequest",
    "require_summarizer",
    "runs_ahead",
]
