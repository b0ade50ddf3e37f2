"""How far the inputs of each target came, told at the end of a run over all of its processes."""

import pytest

FUZZED = "fuzzed"  # a property of a test: the target, its inputs, how many were parsed, how many accepted, crashes


def tell(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each target that was fuzzed, and the sum."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    found = sorted(tuple(value) for report in reports for name, value in report.user_properties if name == FUZZED)
    if not found:
        return
    terminalreporter.section("fuzzing")
    for name, inputs, parsed, accepted, crashes in found:
        terminalreporter.line(
            f"{name}: {inputs:,} inputs, {parsed / inputs:.1%} past the first parser, {accepted / inputs:.1%} accepted, {crashes} crashes"
        )
    terminalreporter.line(f"{sum(row[1] for row in found):,} inputs, {sum(row[4] for row in found)} crashes")
