"""The command line. Each command is a few lines and calls one function."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from pageturn.cli import contexts, imports, journals
from pageturn.cli.demo import show_demo
from pageturn.cli.imports import claude_code_folder, codex_folder
from pageturn.cli.journals import Wanted
from pageturn.cli.lab_commands import compactions, flip, replay, report
from pageturn.cli.pages import show_page
from pageturn.cli.route_commands import route
from pageturn.cli.summaries import summarize as summarize_session
from pageturn.cli.summaries import summarizer_for
from pageturn.cli.terminal import complain, terminal
from pageturn.errors import PageturnError
from pageturn.pages import ResidencyLevel

_STORE = click.argument("store")
_SESSION = click.option("--session", "-s", help="The session; the newest one without it.")
_SCOPE = click.option("--scope", help="The scope of the session, where it was begun with one.")
_INTERNAL = click.option("--internal", is_flag=True, help="Include what is for the model only.")
_BUDGET = click.option("--budget", type=click.IntRange(1), help="The most tokens; what the policy allows without it.")
_MODEL = click.option("--model", help="The model; the one that was asked last without it.")
_ROWS = click.option(
    "--rows", default=40, show_default=True, type=click.IntRange(1), help="The most rows of the table."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pageturn")
def cli() -> None:
    """Pageturn decides what an LLM agent sees on each turn."""


@cli.command()
def demo() -> None:
    """Show a short session as pages, with the tokens of each at every level."""
    show_demo()


@cli.command()
@_STORE
def sessions(store: str) -> None:
    """List the sessions of a store, the newest first."""
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
@click.option("--limit", "-n", default=5, show_default=True, type=click.IntRange(1, 1_000))
def recall(store: str, query: str, session: str | None, scope: str | None, limit: int, *, internal: bool) -> None:
    """Search a session. Exits with 1 where nothing was found."""
    with journals.opened(store) as opened:
        found = journals.show_hits(
            terminal(), journals.journal_of(opened, Wanted(session, scope)), query, limit, internal=internal
        )
    sys.exit(0 if found else 1)


@cli.group()
def page() -> None:
    """Look at single pages."""


@page.command("show")
@_STORE
@click.argument("handle")
@_SESSION
@_SCOPE
@click.option(
    "--level",
    type=click.Choice([level.value for level in ResidencyLevel]),
    help="Only this level; all that are offered without it.",
)
@_INTERNAL
def page_show(
    store: str, handle: str, session: str | None, scope: str | None, level: str | None, *, internal: bool
) -> None:
    """Show what stands for a page at each level, with its tokens. A call and its results are shown together."""
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
@click.option("--text", is_flag=True, help="The messages as the model would read them, instead of the table.")
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
    """Show what the next call would get: what stands at which level, what it takes, and why. Writes nothing."""
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
    """Say why a page stands as it does in the next context, since when, and what it would cost to raise it."""
    with journals.opened(store) as opened:
        look = contexts.look_at(journals.journal_of(opened, Wanted(session, scope)), budget, model)
        contexts.show_reasons(terminal(), look, handles, store)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@click.option("--turn", type=click.IntRange(1), help="The turn; without it the last one that folded, or else the last.")
@_ROWS
def diff(store: str, session: str | None, scope: str | None, turn: int | None, rows: int) -> None:
    """Show what a turn's context changed of the one before: levels after a fold, or else what was appended."""
    with journals.opened(store) as opened:
        contexts.show_changes(terminal(), journals.journal_of(opened, Wanted(session, scope)), turn, rows)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@click.option(
    "--url",
    help="A model that speaks as OpenAI's or Anthropic's do, as http://127.0.0.1:8080/v1; without it none is asked.",
)
@click.option("--model", help="The model at that URL.")
@click.option("--key", envvar="PAGETURN_SUMMARY_KEY", show_envvar=True, help="Its key; better in the environment.")
@click.option(
    "--dialect", type=click.Choice(["openai", "anthropic"]), help="How it is spoken to; by the URL without it."
)
@click.option(
    "--window", default=16_000, show_default=True, type=click.IntRange(1), help="The most tokens of one request."
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
    """Write summaries of what a session may come to leave out, in its own words or by a model.

    Exits with 1 where the model failed; what was finished before is kept.
    """
    summarizer = summarizer_for(url, model, key, dialect, window)
    with journals.opened(store) as opened:
        is_done = summarize_session(terminal(), opened, Wanted(session, scope), summarizer)
    sys.exit(0 if is_done else 1)


@cli.command()
@_STORE
@click.option("--repair", is_flag=True, help="Put right what can be put right, after a copy of the store is made.")
def doctor(store: str, *, repair: bool) -> None:
    """Verify every entry, digest and handle of a store, and settle what a crash left staged.

    With --repair nothing that is whole is lost; what is lost is marked as lost, and its session goes on without it.
    Exits with 1 where something is wrong, or is still wrong after a repair.
    """
    with journals.opened(store) as opened:
        is_well = journals.show_health(terminal(), opened)
        if repair and not is_well:
            journals.show_repair(terminal(), opened)
            is_well = journals.show_health(terminal(), opened)
    sys.exit(0 if is_well else 1)


@cli.command()
@_STORE
@click.option("--yes", is_flag=True, help="Do it, instead of saying what it would free.")
def vacuum(store: str, *, yes: bool) -> None:
    """Say what no record needs any more, and with --yes free it."""
    with journals.opened(store) as opened:
        journals.show_vacuum(terminal(), opened, dry_run=not yes)


@cli.command()
@_STORE
@_SESSION
@_SCOPE
@_INTERNAL
def export(store: str, session: str | None, scope: str | None, *, internal: bool) -> None:
    """Write the messages of a session as JSON lines. Exits with 1 where one could not be read, and was left out."""
    with journals.opened(store) as opened:
        wanted = journals.journal_of(opened, Wanted(session, scope))
        is_whole = journals.export(terminal(stderr=True), wanted, internal=internal)
    sys.exit(0 if is_whole else 1)


@cli.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--into", default="pageturn.db", show_default=True, help="The store; it is made where it is not there.")
@click.option("--claude-code", is_flag=True, help="Everything that Claude Code has recorded on this machine.")
@click.option("--codex", is_flag=True, help="Everything that Codex has recorded on this machine.")
@click.option("--scope", help="The scope that the sessions belong to; none without it.")
def import_(paths: tuple[Path, ...], into: str, *, claude_code: bool, codex: bool, scope: str | None) -> None:
    """Take over recorded sessions of other tools: files, or folders of them.

    What is there already is not taken again. A session whose id is another's gets another id. Exits with 1 where a file that was named could not be read.
    """
    usual = [folder for wanted, folder in ((claude_code, claude_code_folder()), (codex, codex_folder())) if wanted]
    if not paths and not usual:
        raise click.UsageError("give files or folders, --claude-code or --codex")
    took_all = imports.import_paths(terminal(), into, [*paths, *usual], named=set(paths), scope=scope)
    sys.exit(0 if took_all else 1)


for _command in (route, replay, flip, compactions, report):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters gets others, not a traceback
    try:
        cli(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        complain(said.getvalue().rstrip("\n"))
        sys.exit(error.exit_code)
    except PageturnError as error:
        complain(f"pageturn: {error}")
        sys.exit(1)
    except (OSError, click.Abort) as error:
        with suppress(OSError):
            complain(f"pageturn: {str(error) or 'stopped'}")
        with suppress(OSError):  # what is buffered for a stream that failed must not be written again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
