"""Finds the lines of a text that report errors, warnings or counts."""

import re

from pageturn.context.renditions.scanning import lines_with

_WRONG = (
    *("rror", "RROR", "xception", "fail", "Fail", "FAIL", "atal", "ATAL", "panic", "Panic", "Traceback", "ssert"),
    *("ndefined", "not found", "denied", "refused", "imed out", "annot ", "nable to", "issing", "nvalid", "nexpected"),
    *("✗", "✘", "×", "\nE  "),
)
_WARNED = ("arn", "WARN")
_COUNTED = ("passed", "failed", "rror", "arning", " test", "skipped", "xit code", "\nPASS", "\nFAIL", "\nok")
_COUNT = re.compile(r"\b\d+ (?:passed|failed|errors?|warnings?|tests?|skipped)\b|^(?:PASS|FAIL|ok)\b|[Ee]xit code")
_FINE = re.compile(r"\b(?:PASSED|PASS|passed|ok|OK)\b|✓|✔|\b0 (?:failed|errors?|failures?)\b")
_FAILED = re.compile(r"\b[1-9]\d* (?:failed|errors?|failures?)\b")
_LOOKED_AT = 400  # characters of a line


def error_lines(lines: list[str]) -> list[int]:
    """The numbers of the lines that report an error, in order; without passed tests and warnings."""
    return [at for at in lines_with(_WRONG, "\n".join(lines)) if not _is_fine(lines[at][:_LOOKED_AT])]


def warnings(lines: list[str]) -> list[int]:
    """The numbers of the lines that warn."""
    return lines_with(_WARNED, "\n".join(lines))


def counts(lines: list[str]) -> list[int]:
    """The numbers of the lines that count what passed or failed."""
    return [at for at in lines_with(_COUNTED, "\n".join(lines)) if _COUNT.search(lines[at][:_LOOKED_AT])]


def _is_fine(line: str) -> bool:
    """Whether a line that mentions an error says that there was none, or is only a warning."""
    if _FAILED.search(line):
        return False
    only_warns = ("arn" in line or "WARN" in line) and "rror" not in line and "ERROR" not in line
    return only_warns or _FINE.search(line) is not None
