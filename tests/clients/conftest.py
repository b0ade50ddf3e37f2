"""What each scene came to is told at the end of the run."""

import pytest

_ROW = "client scene"


@pytest.fixture
def told(record_property, request):
    """Keep the outcome of a test for the table at the end."""

    def tell(outcome):
        record_property(_ROW, outcome.row())
        return outcome

    return tell


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = [
        ({"scene": report.nodeid.partition("::")[2].removeprefix("test_"), **dict(report.user_properties)[_ROW]})
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call" and _ROW in dict(getattr(report, "user_properties", ()))
    ]
    if not rows:
        return
    rows.sort(key=lambda row: row["scene"])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    terminalreporter.section("real clients")
    for row in ({name: name for name in widths}, *rows):
        terminalreporter.write_line("  ".join(row[name].ljust(width) for name, width in widths.items()))
