"""Tally: how many sessions, contexts and checks there were, and what broke which law."""

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Violation:
    """A law that did not hold: which, and what was seen."""

    law: str
    what: str

    def __str__(self) -> str:
        return f"{self.law}: {self.what}"


@dataclass
class Tally:
    """Counts that add up, over sessions and over processes."""

    counts: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.counts += other.counts
        self.checks += other.checks
        self.violations += other.violations

    def save(self, folder: Path) -> None:
        """Keep what this process counted beside what others count."""
        folder.mkdir(parents=True, exist_ok=True)
        data = {"counts": self.counts, "checks": self.checks, "violations": self.violations}
        (folder / f"{os.getpid()}.json").write_text(json.dumps(data))

    @classmethod
    def of(cls, folder: Path) -> "Tally":
        """What all processes counted."""
        total = cls()
        for path in sorted(folder.glob("*.json")):
            data = json.loads(path.read_text())
            total.add(cls(Counter(data["counts"]), Counter(data["checks"]), Counter(data["violations"])))
        return total

    def lines(self) -> list[str]:
        """The summary, for a terminal."""
        names = ("sessions", "contexts", "folded", "with open calls", "with erased pages", "over 90 % full", "refused")
        told = ", ".join(f"{self.counts[name]:,} {name}" for name in names)
        laws = sorted(self.checks)
        return [told, *(f"{law}: {self.checks[law]:,} checks, {self.violations[law]:,} violations" for law in laws)]


TOTAL = Tally()  # of this process
