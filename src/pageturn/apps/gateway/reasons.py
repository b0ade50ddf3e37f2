"""Says in plain words why an exchange was not managed or not written down. A reason never quotes what passed."""

from pageturn.apps.gateway.exchange import TOO_LARGE, Ending, Exchange
from pageturn.values.errors import Busy, Damaged, InvalidInput, StoreError

_SUCCESS = range(200, 300)
_BEFORE_AN_ANSWER = {
    Ending.UNREACHED: "the provider gave no answer",
    Ending.CUT: "the provider broke off before an answer",
    Ending.LEFT: "the client left before an answer",
}
_WITHIN_A_REPLY = {
    Ending.WHOLE: "a reply without an end",
    Ending.CUT: "the provider broke off its reply",
    Ending.LEFT: "the client left before the end of a reply",
    Ending.UNREACHED: "the provider gave no answer",
}


def why_unread(exchange: Exchange) -> str | None:
    """Why nothing can be read of an exchange that is over; None where something can."""
    if exchange.status is None:
        return _BEFORE_AN_ANSWER[exchange.ending or Ending.LEFT]
    if exchange.status not in _SUCCESS:
        return f"status {exchange.status}"
    return TOO_LARGE if exchange.is_too_large else None


def why_no_reply(ending: Ending | None) -> str:
    """Why there is no whole reply in an answer that began."""
    return _WITHIN_A_REPLY[ending or Ending.LEFT]


def why_failed(error: Exception) -> str:
    """Why the store, or what we do with a session in it, failed."""
    match error:
        case Busy():
            return "another program has locked the store"
        case Damaged():
            return "the store is damaged"
        case StoreError() | OSError():
            return "the store cannot be read or written"
        case InvalidInput():
            return f"not understood: {error.path}"
        case _:
            return f"an error of ours, {type(error).__name__}"
