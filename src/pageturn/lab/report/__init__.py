"""A report: what replays came to, as one page that needs nothing else, and as pictures."""

from pageturn.lab.report.writing import Report, report_of

__all__ = ["Report", "report_of"]
