"""Writes all summaries a session needs and prints the outcome of each."""

from contextlib import nullcontext

from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.answers import SummariesWritten, SummaryLine
from pageturn.apps.cli.journals import Wanted, journal_of
from pageturn.apps.cli.tables import plain
from pageturn.apps.cli.terminal import answered, has_progress
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.values.entries import Committed, Rejected, Waiting
from pageturn.values.errors import InvalidInput
from pageturn.writeback.summaries import Extractive, HttpEndpoint, ModelSummarizer, Prepared, Summarizer


def summarizer_for(
    url: str | None, model: str | None, key: str | None, dialect: str | None, window_tokens: int
) -> Summarizer:
    """A summarizer that calls the model at a URL, or without a URL one that extracts from the text."""
    if url is None:
        if model is not None:
            raise InvalidInput("--model", expected="--url as well", got="no --url")
        return Extractive()
    if model is None:
        raise InvalidInput("--url", expected="--model as well", got="no --model")
    return ModelSummarizer(HttpEndpoint(url, model, key=key, dialect=dialect), window_tokens=window_tokens)


def summarize(console: Console, store: Store, wanted: Wanted, summarizer: Summarizer) -> bool:
    """Write the summaries of a session and print them; returns whether the summarizer never failed."""
    opened = Session.open(store, id=journal_of(store, wanted).row.id, scope=wanted.scope, summarizer=summarizer)
    assert opened.summaries is not None
    with opened, console.status("summarizing") if has_progress(console) else nullcontext():
        prepared = opened.summaries.finish()
    _show(console, opened, prepared)
    return not any(not isinstance(each.outcome, Committed | Waiting | Rejected) for each in prepared)


def _show(console: Console, session: Session, prepared: tuple[Prepared, ...]) -> None:
    lines = tuple(_line(session, each) for each in prepared)
    written = sum(isinstance(each.outcome, Committed) for each in prepared)
    if answered(SummariesWritten(written, lines)):
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("pages", no_wrap=True)
    for name in ("tokens", "summary"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold")
    for line in lines:
        table.add_row(line.pages, f"{line.tokens:,}", f"{line.summary_tokens:,}", plain(line.outcome))
    if lines:
        console.print(table)
    console.print(f"{written} of {len(lines)} summaries written")


def _line(session: Session, each: Prepared) -> SummaryLine:
    pages = session.reader.pages_between(each.handles)
    tokens = sum(page.tokens for page in pages) if isinstance(pages, tuple) else 0
    return SummaryLine(each.handles, tokens, each.tokens, _outcome(each))


def _outcome(each: Prepared) -> str:
    match each.outcome:
        case Committed():
            return "written"
        case Waiting():
            return "waiting for approval"
        case Rejected(reason=reason):
            return f"rejected: {getattr(reason, 'detail', reason.code)}"
        case fault:
            return str(fault)
