"""Draws the results of replays: a self-contained HTML page, and plots."""

from pageturn.lab.report.writing import Report, report_of

__all__ = ["Report", "report_of"]
