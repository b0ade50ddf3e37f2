"""Floors: the room that pages need which may not shrink."""

from pageturn.errors import BudgetTooSmall
from pageturn.pages import Page
from pageturn.state import SessionState


def floor_tokens(state: SessionState, page: Page) -> int:
    """What a rule takes at least: its structured form where its author gave one, itself otherwise; 0 for the others."""
    if not state.kind(page).is_rule:
        return 0
    form = state.pins.get(page.seq)
    return min(page.tokens, form.tokens) if form else page.tokens


def require_room(state: SessionState, *, budget_tokens: int, more_tokens: int, instead_of: Page | None = None) -> None:
    """Refuse one more rule if the rules would no longer fit the budget."""
    rules = [page for page in state.live_pages() if page != instead_of and floor_tokens(state, page)]
    needed = sum(floor_tokens(state, page) for page in rules) + more_tokens
    if needed > budget_tokens:
        handles = (*(page.handle for page in rules), instead_of.handle if instead_of else "the new pin")
        raise BudgetTooSmall(needed_tokens=needed, budget_tokens=budget_tokens, handles=handles)
