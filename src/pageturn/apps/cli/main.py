"""Defines the `pageturn` command line; each command calls one function."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from pageturn.apps.cli import contexts, imports, journals
from pageturn.apps.cli.archive_commands import pack, unpack
from pageturn.apps.cli.demo import demo
from pageturn.apps.cli.gateway_commands import run, savings, serve, show_installation
from pageturn.apps.cli.imports import claude_code_folder, codex_folder
from pageturn.apps.cli.inspect_command import inspect
from pageturn.apps.cli.journals import Wanted
from pageturn.apps.cli.keeping_commands import backup, restore, retain
from pageturn.apps.cli.key_commands import keys
from pageturn.apps.cli.lab_commands import compactions, flip, replay, report
from pageturn.apps.cli.mcp_commands import mcp
from pageturn.apps.cli.pages import show_page
from pageturn.apps.cli.proposal_commands import proposals
from pageturn.apps.cli.route_commands import outcome, route
from pageturn.apps.cli.sections import SectionedGroup
from pageturn.apps.cli.summaries import summarize as summarize_session
from pageturn.apps.cli.summaries import summarizer_for
from pageturn.apps.cli.terminal import complain, terminal
from pageturn.apps.cli.trials import trial
from pageturn.values.errors import PageturnError
from pageturn.values.pages import ResidencyLevel

_STORE = click.argument("store")
_SESSION = click.option("--session", "-s", help="The session; by default the newest one.")
_SCOPE = click.option("--scope", help="The scope of the session, if it has one.")
_INTERNAL = click.option("--internal", is_flag=True, help="Include content that only the model may see.")
_BUDGET = click.option("--budget", type=click.IntRange(1), help="Token budget; by default what the policy allows.")
_MODEL = click.option("--model", help="The model; by default the one of the last turn.")
_ROWS = click.option(
    "--rows", default=40, show_default=True, type=click.IntRange(1), help="Maximum number of table rows."
)


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pageturn")
def cli() -> None:
    """Pageturn decides what an LLM agent sees on each turn."""


@cli.command()
@_STORE
def sessions(store: str) -> None:
    """List the sessions of a store, newest first."""
    with journals.opened(store) as opened:
        journals.show_sessions(terminal(), opened)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@_INTERNAL
def show(store: str, session: str | None, scope: str | None, *, internal: bool) -> None:
    """List the pages of a session."""
    with journals.opened(store) as opened:
        journals.show_pages(terminal(), journals.journal_of(opened, Wanted(session, scope)), internal=internal)


@cli.command()
@_STORE
@click.argument("query")
@_SESSION
@_SCOPE
@_INTERNAL
@click.option("--all", "everywhere", is_flag=True, help="Search all sessions of its scope, too.")
@click.option("--limit", "-n", default=5, show_default=True, type=click.IntRange(1, 1_000))
def recall(
    store: str, query: str, session: str | None, scope: str | None, limit: int, *, everywhere: bool, internal: bool
) -> None:
    """Search a session. Exits with 1 if nothing was found."""
    with journals.opened(store) as opened:
        journal = journals.journal_of(opened, Wanted(session, scope))
        found = journals.show_hits(terminal(), journal, query, limit, everywhere=everywhere, internal=internal)
    sys.exit(0 if found else 1)


@cli.group()
def page() -> None:
    """Show single pages."""


@page.command("show")
@_STORE
@click.argument("handle")
@_SESSION
@_SCOPE
@click.option(
    "--level",
    type=click.Choice([level.value for level in ResidencyLevel]),
    help="Only this level; by default all that are offered.",
)
@_INTERNAL
def page_show(
    store: str, handle: str, session: str | None, scope: str | None, level: str | None, *, internal: bool
) -> None:
    """Show a page at each level, with its tokens. A tool call and its results are shown together."""
    with journals.opened(store) as opened:
        levels = [ResidencyLevel(level)] if level else list(ResidencyLevel)
        show_page(terminal(), journals.journal_of(opened, Wanted(session, scope)), handle, levels, internal=internal)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@_BUDGET
@_MODEL
@_ROWS
@click.option("--text", is_flag=True, help="Print the messages as the model would read them, instead of a table.")
@_INTERNAL
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
        if text:
            contexts.show_text(terminal(), look, internal=internal)
        else:
            contexts.show_context(terminal(), look, rows)


@cli.command()
@_STORE
@click.argument("handles", metavar="HANDLE...", nargs=-1, required=True)
@_SESSION
@_SCOPE
@_BUDGET
@_MODEL
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


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@click.option("--turn", type=click.IntRange(1), help="The turn; by default the last one that folded, or else the last.")
@_ROWS
def diff(store: str, session: str | None, scope: str | None, turn: int | None, rows: int) -> None:
    """Show how a turn's context differs from the previous one: new levels after a fold, else the appended pages."""
    with journals.opened(store) as opened:
        contexts.show_changes(terminal(), journals.journal_of(opened, Wanted(session, scope)), turn, rows)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
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

    Exits with 1 if the model failed; summaries finished before that are kept.
    """
    summarizer = summarizer_for(url, model, key, dialect, window)
    with journals.opened(store) as opened:
        is_done = summarize_session(terminal(), opened, Wanted(session, scope), summarizer)
    sys.exit(0 if is_done else 1)


@cli.command()
@click.argument("store", required=False)
@click.option("--repair", is_flag=True, help="Copy the store, then repair what can be repaired.")
@click.option("--config", "file", type=click.Path(path_type=Path), help="Without a store: the gateway's settings file.")
def doctor(store: str | None, file: Path | None, *, repair: bool) -> None:
    """Verify every entry, digest and handle of a store, and settle what a crash left staged.

    Without a store, look at the gateway's installation: versions, settings, permissions, keys, upstreams, clock. With --repair nothing intact is lost; lost entries are marked as lost, and their session continues without them.
    Exits with 1 if problems were found, or remain after a repair.
    """
    if store is None:
        sys.exit(0 if show_installation(terminal(), file) else 1)
    with journals.opened(store) as opened:
        is_sound = journals.show_health(terminal(), opened)
        if repair and not is_sound:
            journals.show_repair(terminal(), opened)
            is_sound = journals.show_health(terminal(), opened)
    sys.exit(0 if is_sound else 1)


@cli.command()
@_STORE
@click.option("--yes", is_flag=True, help="Free the space; by default only show what would be freed.")
def vacuum(store: str, *, yes: bool) -> None:
    """Show how much unreferenced data can be freed, and with --yes free it."""
    with journals.opened(store) as opened:
        journals.show_vacuum(terminal(), opened, dry_run=not yes)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@_INTERNAL
@click.option("--mask", is_flag=True, help="Mask what looks like a key; the store does not change.")
def export(store: str, session: str | None, scope: str | None, *, internal: bool, mask: bool) -> None:
    """Write the messages of a session as JSON lines. Exits with 1 if one could not be read and was skipped."""
    with journals.opened(store) as opened:
        wanted = journals.journal_of(opened, Wanted(session, scope))
        is_whole = journals.export(terminal(stderr=True), wanted, internal=internal, mask=mask)
    sys.exit(0 if is_whole else 1)


@cli.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--into", default="pageturn.db", show_default=True, help="The store; created if it does not exist.")
@click.option("--claude-code", is_flag=True, help="Import everything that Claude Code recorded on this machine.")
@click.option("--codex", is_flag=True, help="Import everything that Codex recorded on this machine.")
@click.option("--scope", help="The scope of the imported sessions; by default none.")
def import_(paths: tuple[Path, ...], into: str, *, claude_code: bool, codex: bool, scope: str | None) -> None:
    """Import recorded sessions of other tools: files, or folders of them.

    What was already imported is skipped. A session whose id is in use gets a new id. Exits with 1 if a named file could not be read.
    """
    usual = [folder for wanted, folder in ((claude_code, claude_code_folder()), (codex, codex_folder())) if wanted]
    if not paths and not usual:
        raise click.UsageError("give files or folders, --claude-code or --codex")
    read_all = imports.import_paths(terminal(), into, [*paths, *usual], named=set(paths), scope=scope)
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
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; an error is printed as one line and sets the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters that the terminal cannot encode are replaced
    try:
        cli(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        complain(shown.getvalue().rstrip("\n"))
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
