"""Conformance: sessions that are hard to shorten, and laws that whoever shortens them should keep; for our policies and for others."""

from pageturn.lab.conformance.cases import CASES, Case
from pageturn.lab.conformance.laws import LAWS, Law, System, Verdict, examine
from pageturn.lab.conformance.ours import Ours

__all__ = ["CASES", "LAWS", "Case", "Law", "Ours", "System", "Verdict", "examine"]
