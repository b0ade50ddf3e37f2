"""Writes summaries of runs of pages in the background of a session; writeback admits them."""

from pageturn.writeback.summaries.background import Prepared, Summaries
from pageturn.writeback.summaries.contract import Summarizer, SummaryRequest, require_summarizer
from pageturn.writeback.summaries.endpoints import Dialect, HttpEndpoint
from pageturn.writeback.summaries.extractive import Extractive
from pageturn.writeback.summaries.model import Endpoint, ModelSummarizer
from pageturn.writeback.summaries.routed import RoutedSummarizer
from pageturn.writeback.summaries.runs import Run
from pageturn.writeback.summaries.stop import Stop

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
]
