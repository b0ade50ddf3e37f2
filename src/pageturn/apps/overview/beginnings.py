"""How a page begins, for lists."""

from pageturn.journal.journal import Journal
from pageturn.values.errors import PageturnError
from pageturn.values.messages import Visibility
from pageturn.values.pages import Page
from pageturn.values.search_text import search_text


def beginning(journal: Journal, page: Page, characters: int, *, internal: bool) -> str:
    """How the words of a page begin, on one line."""
    if page.visibility is Visibility.INTERNAL and not internal:
        return "(internal)"
    try:
        message = journal.message(page)
    except PageturnError as error:
        return f"(cannot be read: {error})"
    if message is None:
        return "(erased)"
    words = " ".join(search_text(message)[: 4 * characters].split())
    return words if len(words) <= characters else f"{words[:characters]}…"
