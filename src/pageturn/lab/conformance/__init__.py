"""Tests conformance: sessions that are hard to shorten, and guarantees that any method should keep, ours and others."""

from pageturn.lab.conformance.cases import CASES, Case
from pageturn.lab.conformance.laws import LAWS, Law, System, Verdict, examine
from pageturn.lab.conformance.ours import Ours

__all__ = ["CASES", "LAWS", "Case", "Law", "Ours", "System", "Verdict", "examine"]
