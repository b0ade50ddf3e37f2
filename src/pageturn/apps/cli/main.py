"""Defines the `pageturn` command line; each command calls one function."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from pageturn.apps.cli import changes, contexts, imports, journals
from pageturn.apps.cli.answers import (
    Health,
    HitsFound,
    Import,
    Installation,
    NextContext,
    PageLevels,
    PageReasons,
    PagesFound,
    SessionsFound,
    SpaceFreed,
    SummariesWritten,
    TurnChanges,
)
from pageturn.apps.cli.archive_commands import pack, unpack
from pageturn.apps.cli.completion_command import completion
from pageturn.apps.cli.demo import demo
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.gateway_commands import run, savings, serve, show_installation
from pageturn.apps.cli.imports import claude_code_folder, codex_folder
from pageturn.apps.cli.inspect_command import inspect
from pageturn.apps.cli.journals import Wanted
from pageturn.apps.cli.keeping_commands import backup, restore, retain
from pageturn.apps.cli.key_commands import keys
from pageturn.apps.cli.lab_commands import compactions, flip, replay, report
from pageturn.apps.cli.mcp_commands import mcp
from pageturn.apps.cli.options import BUDGET, GATEWAYS_STORE, INTERNAL, MODEL, ROWS, SCOPE, SESSION, STORE
from pageturn.apps.cli.pages import show_page
from pageturn.apps.cli.proposal_commands import proposals
from pageturn.apps.cli.route_commands import outcome, route
from pageturn.apps.cli.sections import SectionedGroup
from pageturn.apps.cli.sessions import show_sessions
from pageturn.apps.cli.summaries import summarize as summarize_session
from pageturn.apps.cli.summaries import summarizer_for
from pageturn.apps.cli.terminal import answered, complain, terminal, wants_json
from pageturn.apps.cli.trials import trial
from pageturn.values.errors import PageturnError
from pageturn.values.pages import ResidencyLevel


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pageturn")
def cli() -> None:
    """Pageturn decides what an LLM agent sees on each turn."""


@cli.command(cls=Documented, example="sessions agent.db", prints=SessionsFound)
@STORE
def sessions(store: str) -> None:
    """List the sessions of a store, newest first."""
    with journals.opened(store) as opened:
        show_sessions(terminal(), opened)


@cli.command(cls=Documented, example="show agent.db --session login-bug", prints=PagesFound)
@STORE
@SESSION
@SCOPE
@INTERNAL
def show(store: str, session: str | None, scope: str | None, *, internal: bool) -> None:
    """List the pages of a session."""
    with journals.opened(store) as opened:
        journals.show_pages(terminal(), journals.journal_of(opened, Wanted(session, scope)), internal=internal)


@cli.command(
    cls=Documented, example='recall agent.db "which commit broke login"', prints=HitsFound, fails="nothing was found"
)
@STORE
@click.argument("query")
@SESSION
@SCOPE
@INTERNAL
@click.option("--all", "everywhere", is_flag=True, help="Search all sessions of its scope, too.")
@click.option("--limit", "-n", default=5, show_default=True, type=click.IntRange(1, 1_000))
def recall(
    store: str, query: str, session: str | None, scope: str | None, limit: int, *, everywhere: bool, internal: bool
) -> None:
    """Search a session."""
    with journals.opened(store) as opened:
        journal = journals.journal_of(opened, Wanted(session, scope))
        found = journals.show_hits(terminal(), journal, query, limit, everywhere=everywhere, internal=internal)
    sys.exit(0 if found else 1)


@cli.group()
def page() -> None:
    """Show single pages."""


@page.command("show", cls=Documented, example="page show agent.db p12 --level full", prints=PageLevels)
@STORE
@click.argument("handle")
@SESSION
@SCOPE
@click.option(
    "--level",
    type=click.Choice([level.value for level in ResidencyLevel]),
    help="Only this level; by default all that are offered.",
)
@INTERNAL
def page_show(
    store: str, handle: str, session: str | None, scope: str | None, level: str | None, *, internal: bool
) -> None:
    """Show a page at each level, with its tokens. A tool call and its results are shown together."""
    with journals.opened(store) as opened:
        levels = [ResidencyLevel(level)] if level else list(ResidencyLevel)
        show_page(terminal(), journals.journal_of(opened, Wanted(session, scope)), handle, levels, internal=internal)


@cli.command(cls=Documented, example="context agent.db --budget 24000", prints=NextContext)
@STORE
@SESSION
@SCOPE
@BUDGET
@MODEL
@ROWS
@click.option("--text", is_flag=True, help="Print the messages as the model would read them, instead of a table.")
@INTERNAL
def context(
    store: str,
    *,
    session: str | None,
    scope: str | None,
    budget: int | None,
    model: str | None,
    rows: int,
    text: bool,
    internal: bool,
) -> None:
    """Show the context of the next call: each page, its level, its tokens, and why. Writes nothing."""
    with journals.opened(store) as opened:
        look = contexts.look_at(journals.journal_of(opened, Wanted(session, scope)), budget, model)
        if wants_json():
            answered(contexts.next_context(look, internal=internal, with_text=text))
        elif text:
            contexts.show_text(terminal(), look, internal=internal)
        else:
            contexts.show_context(terminal(), look, rows)


@cli.command(cls=Documented, example="why agent.db p12 p15", prints=PageReasons)
@STORE
@click.argument("handles", metavar="HANDLE...", nargs=-1, required=True)
@SESSION
@SCOPE
@BUDGET
@MODEL
def why(
    store: str,
    handles: tuple[str, ...],
    *,
    session: str | None,
    scope: str | None,
    budget: int | None,
    model: str | None,
) -> None:
    """Explain why a page has its level in the next context, since when, and what raising it would cost."""
    with journals.opened(store) as opened:
        look = contexts.look_at(journals.journal_of(opened, Wanted(session, scope)), budget, model)
        contexts.show_reasons(terminal(), look, handles, store)


@cli.command(cls=Documented, example="diff agent.db --turn 40", prints=TurnChanges)
@STORE
@SESSION
@SCOPE
@click.option("--turn", type=click.IntRange(1), help="The turn; by default the last one that folded, or else the last.")
@ROWS
def diff(store: str, session: str | None, scope: str | None, turn: int | None, rows: int) -> None:
    """Show how a turn's context differs from the previous one: new levels after a fold, else the appended pages."""
    with journals.opened(store) as opened:
        changes.show_changes(terminal(), journals.journal_of(opened, Wanted(session, scope)), turn, rows)


@cli.command(
    cls=Documented,
    example="summarize agent.db --session login-bug",
    prints=SummariesWritten,
    acts=True,
    fails="the model failed",
)
@STORE
@SESSION
@SCOPE
@click.option(
    "--url",
    help="Base URL of an OpenAI or Anthropic compatible API, as http://127.0.0.1:8080/v1; by default no model is called.",
)
@click.option("--model", help="The model at that URL.")
@click.option(
    "--key", envvar="PAGETURN_SUMMARY_KEY", show_envvar=True, help="The API key; better set in the environment."
)
@click.option(
    "--dialect", type=click.Choice(["openai", "anthropic"]), help="The API format; by default guessed from the URL."
)
@click.option(
    "--window", default=16_000, show_default=True, type=click.IntRange(1), help="Maximum tokens of one request."
)
def summarize(
    store: str,
    session: str | None,
    scope: str | None,
    *,
    url: str | None,
    model: str | None,
    key: str | None,
    dialect: str | None,
    window: int,
) -> None:
    """Write summaries of what later contexts may leave out: extracted from the text, or by a model.

    If the model fails, summaries finished before that are kept.
    """
    summarizer = summarizer_for(url, model, key, dialect, window)
    with journals.opened(store) as opened:
        is_done = summarize_session(terminal(), opened, Wanted(session, scope), summarizer)
    sys.exit(0 if is_done else 1)


@cli.command(
    cls=Documented,
    example="doctor agent.db --repair",
    prints=Health | Installation,
    acts=True,
    fails="problems were found, or are left",
)
@GATEWAYS_STORE
@click.option("--repair", is_flag=True, help="Copy the store, then repair what can be repaired.")
@click.option("--config", "file", type=click.Path(path_type=Path), help="Without a store: the gateway's settings file.")
def doctor(store: str | None, file: Path | None, *, repair: bool) -> None:
    """Verify every entry, digest and handle of a store, and settle what a crash left staged.

    Without a store, look at the gateway's installation: versions, settings, permissions, keys, upstreams, clock. With --repair nothing intact is lost; lost entries are marked as lost, and their session continues without them.
    """
    if store is None:
        sys.exit(0 if show_installation(terminal(), file) else 1)
    with journals.opened(store) as opened:
        is_sound = journals.show_health(terminal(), opened, wants_repair=repair)
    sys.exit(0 if is_sound else 1)


@cli.command(cls=Documented, example="vacuum agent.db --yes", prints=SpaceFreed, acts=True)
@STORE
@click.option("--yes", is_flag=True, help="Free the space; by default only show what would be freed.")
def vacuum(store: str, *, yes: bool) -> None:
    """Show how much unreferenced data can be freed, and with --yes free it."""
    with journals.opened(store) as opened:
        journals.show_vacuum(terminal(), opened, dry_run=not yes)


@cli.command(cls=Documented, example="export agent.db --mask", fails="a message could not be read and was skipped")
@STORE
@SESSION
@SCOPE
@INTERNAL
@click.option("--mask", is_flag=True, help="Mask what looks like a key; the store does not change.")
def export(store: str, session: str | None, scope: str | None, *, internal: bool, mask: bool) -> None:
    """Write the messages of a session as JSON lines."""
    with journals.opened(store) as opened:
        wanted = journals.journal_of(opened, Wanted(session, scope))
        is_whole = journals.export(terminal(stderr=True), wanted, internal=internal, mask=mask)
    sys.exit(0 if is_whole else 1)


@cli.command(
    "import",
    cls=Documented,
    example="import --claude-code --codex --into mine.db",
    prints=Import,
    acts=True,
    fails="a named file could not be read",
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--into", default="pageturn.db", show_default=True, help="The store; created if it does not exist.")
@click.option("--claude-code", is_flag=True, help="Import everything that Claude Code recorded on this machine.")
@click.option("--codex", is_flag=True, help="Import everything that Codex recorded on this machine.")
@click.option("--scope", help="The scope of the imported sessions; by default none.")
@click.option(
    "--all-reasons", is_flag=True, help="List every reason for which something was skipped, and every renamed session."
)
def import_(
    paths: tuple[Path, ...], into: str, *, claude_code: bool, codex: bool, scope: str | None, all_reasons: bool
) -> None:
    """Import recorded sessions of other tools: files, or folders of them.

    What was already imported is skipped. A session whose id is in use gets a new id.
    """
    usual = [folder for wanted, folder in ((claude_code, claude_code_folder()), (codex, codex_folder())) if wanted]
    if not paths and not usual:
        raise click.UsageError("give files or folders, --claude-code or --codex")
    read_all = imports.import_paths(
        terminal(), into, [*paths, *usual], named=set(paths), scope=scope, shows_all=all_reasons
    )
    sys.exit(0 if read_all else 1)


for _command in (
    demo,
    route,
    outcome,
    replay,
    flip,
    compactions,
    report,
    trial,
    serve,
    run,
    savings,
    mcp,
    proposals,
    keys,
    retain,
    backup,
    restore,
    pack,
    unpack,
    inspect,
    completion,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; an error is printed as one line and sets the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters that the terminal cannot encode are replaced
    try:
        cli(prog_name="pageturn", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        complain(_told(error))
        sys.exit(error.exit_code)
    except PageturnError as error:
        complain(f"pageturn: {error}")
        sys.exit(1)
    except (OSError, click.Abort) as error:
        with suppress(OSError):
            complain(f"pageturn: {str(error) or 'stopped'}")
        with suppress(OSError):  # else the buffer of a broken stream is flushed again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _told(error: click.ClickException) -> str:
    """An error of the command line in one line, with where to look it up."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    words = " ".join(error.format_message().split())
    if context is None:
        return f"pageturn: {words}"
    return f"{context.command_path}: {words.removesuffix('.')}; see `{context.command_path} --help`"
