"""Prints a page as it is shown at each level."""

from collections.abc import Sequence

from rich.console import Console

from pageturn.apps.cli.answers import LevelText, PageLevels
from pageturn.apps.cli.prefixes import one_of
from pageturn.apps.cli.terminal import answered
from pageturn.context.forms import offers
from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.journal.state import SessionState
from pageturn.tokens.counters import counter_for
from pageturn.tokens.windows import DEFAULT_MODEL
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Visibility
from pageturn.values.pages import ResidencyLevel
from pageturn.values.search_text import search_text
from pageturn.values.units import units_of


def whole_handle(state: SessionState, typed: str) -> str:
    """The full handle for a unique beginning: `p5` is enough for `p5-k3qz`, and does not match `p51-n4e7`. A beginning of
    several raises; text that begins no handle is returned unchanged.
    """
    beginning = typed if "-" in typed else f"{typed}-"
    found = [page.handle for page in state.pages if page.handle.startswith(beginning)]
    return one_of("handle", beginning, found, expected="the handle of a page") if found else typed


def show_page(
    console: Console, journal: Journal, handle: str, levels: Sequence[ResidencyLevel], *, internal: bool
) -> None:
    """Print the unit of a page at those of the given levels that are offered."""
    handle = whole_handle(journal.state, handle)
    page = page_of(journal.state, handle)
    if page is None:
        expected = f"the handle of a page of the session {journal.row.id} (--session names another)"
        raise InvalidInput("handle", expected=expected, got=show(handle))
    units = units_of(journal.state.live_pages(), journal.state.turns)
    unit = next((unit for unit in units if page in unit), (page,))
    if all(journal.message(each) is None for each in unit):
        raise InvalidInput("handle", expected="the handle of a page with content", got=show(handle))
    if not internal and any(each.visibility is Visibility.INTERNAL for each in unit):
        raise InvalidInput(
            "handle", expected="a page that is not internal, or --internal", got=f"{handle}, which is internal"
        )
    offered = offers(journal, unit, counter_for(journal.state.model or DEFAULT_MODEL))
    shown = tuple(
        LevelText(level.value, offered[level].tokens, "\n".join(map(search_text, offered[level].messages)))
        if level in offered
        else LevelText(level.value)
        for level in levels
    )
    if answered(PageLevels(handle, shown)):
        return
    for level in shown:
        if level.text is None or level.tokens is None:
            kind = journal.state.kind(page)
            console.print(
                f"[bold]{level.level}[/] is not offered: it is forbidden for pages of the kind {kind}, or saves too little"
            )
            continue
        share = level.tokens / max(offered[ResidencyLevel.FULL].tokens, 1)
        console.print(f"[bold]{level.level}[/], {level.tokens:,} tokens, {share:.0%}")
        console.print(level.text, markup=False, highlight=False, soft_wrap=True)
