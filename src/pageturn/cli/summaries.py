"""Summarizing on the command line: everything that is worth a summary, and what came of each."""

from contextlib import nullcontext

from rich.console import Console
from rich.table import Table

from pageturn.cli.journals import Wanted, journal_of, plain
from pageturn.entries import Committed, Rejected, Waiting
from pageturn.errors import InvalidInput
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.summaries import Extractive, HttpEndpoint, ModelSummarizer, Prepared, Summarizer


def summarizer_for(
    url: str | None, model: str | None, key: str | None, dialect: str | None, window_tokens: int
) -> Summarizer:
    """The model at a URL, or the one that needs none."""
    if url is None:
        if model is not None:
            raise InvalidInput("--model", expected="--url with it", got="none")
        return Extractive()
    if model is None:
        raise InvalidInput("--url", expected="--model with it", got="none")
    return ModelSummarizer(HttpEndpoint(url, model, key=key, dialect=dialect), window_tokens=window_tokens)


def summarize(console: Console, store: Store, wanted: Wanted, summarizer: Summarizer) -> bool:
    """Write the summaries of a session and show them; says whether the summarizer never failed."""
    opened = Session.open(store, id=journal_of(store, wanted).row.id, scope=wanted.scope, summarizer=summarizer)
    assert opened.summaries is not None
    with opened, console.status("summarizing") if console.is_terminal else nullcontext():
        prepared = opened.summaries.finish()
    _show(console, opened, prepared)
    return not any(not isinstance(each.outcome, Committed | Waiting | Rejected) for each in prepared)


def _show(console: Console, session: Session, prepared: tuple[Prepared, ...]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("pages", no_wrap=True)
    for name in ("tokens", "in short"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold")
    for each in prepared:
        pages = session.pages_between(each.handles)
        tokens = sum(page.tokens for page in pages) if isinstance(pages, tuple) else 0
        table.add_row(each.handles, f"{tokens:,}", f"{each.tokens:,}", plain(_told(each)))
    if prepared:
        console.print(table)
    written = sum(isinstance(each.outcome, Committed) for each in prepared)
    console.print(f"{written} summaries written, {len(prepared) - written} not")


def _told(each: Prepared) -> str:
    match each.outcome:
        case Committed():
            return "written"
        case Waiting():
            return "waits for approval"
        case Rejected(reason=reason):
            return f"refused: {getattr(reason, 'detail', reason.code)}"
        case fault:
            return str(fault)
