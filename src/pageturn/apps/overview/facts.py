"""What is known of a session besides its messages: which model it talked to, and when its messages were really said."""

from datetime import UTC, datetime

from pageturn.journal.journal import Journal
from pageturn.values.errors import PageturnError
from pageturn.values.messages import Message
from pageturn.values.pages import Page

UNKNOWN_MODEL = "unknown model"
_MICROS = 1_000_000
_MILLIS_FROM = 10**11  # a number of seconds would be a time some thousand years from now


def model_of(journal: Journal) -> str:
    """The model of a session: as its host said, or else as the provider or the last context did. Nobody guesses one."""
    state = journal.state
    reported = state.usage.model if state.usage is not None else None
    shown = state.shown.model if state.shown is not None else None
    return state.model or reported or shown or UNKNOWN_MODEL


def said_at(journal: Journal, page: Page, message: Message | None = None) -> int:
    """When a page was said, in microseconds: of what was imported, the time in the recording and not that of the import."""
    try:
        message = message or journal.message(page, asks_again=False)
    except PageturnError:
        return page.at
    source = (message.metadata or {}).get("source") if message is not None else None
    return (_read(source.get("at")) if isinstance(source, dict) else 0) or page.at


def _read(time: object) -> int:
    """A time as recordings write it: an ISO date, or a number of seconds or milliseconds; 0 where it is none."""
    if isinstance(time, str) and not time.strip().isdigit():
        try:
            moment = datetime.fromisoformat(time)
        except ValueError:
            return 0
        return round((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * _MICROS)
    try:
        number = int(time) if isinstance(time, str | int) else 0
    except ValueError:
        return 0
    return number * 1_000 if number >= _MILLIS_FROM else number * _MICROS if number > 0 else 0
