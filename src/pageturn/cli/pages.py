"""What stands for a page at each level."""

from collections.abc import Sequence

from rich.console import Console

from pageturn.bodies import search_text
from pageturn.errors import InvalidInput, show
from pageturn.identifiers import Vocabulary
from pageturn.journal import Journal
from pageturn.messages import Visibility
from pageturn.pages import Page, ResidencyLevel
from pageturn.recall import page_of
from pageturn.renditions import Voiced, offers
from pageturn.tokens import counter_for
from pageturn.units import units_of

_MODEL = "gpt-5"


def show_page(
    console: Console, journal: Journal, handle: str, levels: Sequence[ResidencyLevel], *, internal: bool
) -> None:
    """Print the unit of a page at these levels, as far as they are offered."""
    page = page_of(journal.state, handle)
    if page is None:
        raise InvalidInput("handle", expected="the handle of a page of this session", got=show(handle))
    unit, vocabulary = _unit_of(journal, page)
    if not internal and any(voiced.message.visibility is Visibility.INTERNAL for voiced in unit):
        raise InvalidInput("handle", expected="a page for everybody, or --internal", got=f"{handle}, which is internal")
    offered = offers(unit, journal.state.kind(page), counter_for(_MODEL), vocabulary)
    for level in levels:
        if level not in offered:
            console.print(f"[bold]{level}[/] is not offered: it is forbidden for a {page.kind} page, or no shorter")
            continue
        messages, tokens = offered[level]
        share = tokens / max(offered[ResidencyLevel.FULL].tokens, 1)
        console.print(f"[bold]{level}[/], {tokens:,} tokens, {share:.0%}")
        for message in messages:
            console.print(search_text(message), markup=False, highlight=False, soft_wrap=True)


def _unit_of(journal: Journal, page: Page) -> tuple[list[Voiced], Vocabulary]:
    """The unit that a page is in, and what the session had said before it."""
    pages = list(journal.state.live_pages())
    unit = next((unit for unit in units_of(pages, journal.state.turns) if page in unit), (page,))
    vocabulary = Vocabulary()
    for earlier in pages:
        if earlier.seq < unit[0].seq and (message := journal.message(earlier)) is not None:
            vocabulary.hear(message)
    voiced = [Voiced(each.handle, message) for each in unit if (message := journal.message(each)) is not None]
    if not voiced:
        raise InvalidInput("handle", expected="the handle of a page with words", got=show(page.handle))
    return voiced, vocabulary
