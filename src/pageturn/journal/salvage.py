"""Recovers what it can of an entry that the store can no longer read.

The content of a message is stored beside its entry, under its own digests. If it is intact, and not text of the host, the page is
rebuilt from it: with its number, handle, role and calls; only its id and its exact time are lost. Anything else may have been a rule,
or the end of one, so it stays lost.
"""

from collections.abc import Callable

from pageturn.journal.blobs import is_body, unpack
from pageturn.journal.references import calls_of, results_of
from pageturn.stores import Broken
from pageturn.values.entries import Entry, EntryLost, MessageAdded
from pageturn.values.errors import PageturnError
from pageturn.values.handles import check_of
from pageturn.values.json import to_json
from pageturn.values.messages import Role
from pageturn.values.pages import Page, classify

_NO_HOST = (Role.USER, Role.ASSISTANT, Role.TOOL)


def salvaged(broken: Broken, key: bytes, blob: Callable[[str], bytes]) -> Entry:
    """The entry of a message, rebuilt from its text, or a placeholder for a lost entry."""
    page = _page(broken, key, blob) if broken.seq == broken.last else None
    if page is not None:
        return MessageAdded(page=page)
    return EntryLost(last=broken.last, what=str(broken), is_accepted=False)


def _page(broken: Broken, key: bytes, blob: Callable[[str], bytes]) -> Page | None:
    try:
        bodies = {digest: data for digest in broken.blobs if is_body(data := blob(digest))}
        if len(bodies) != 1:
            return None
        ((digest, body),) = bodies.items()
        message = unpack(body, blob)
    except PageturnError:
        return None
    if message.role not in _NO_HOST or "plan" in (message.metadata or {}):
        return None
    return Page(
        seq=broken.seq,
        check=check_of(key, broken.seq, digest),
        id=f"restored-{digest}",
        role=message.role,
        kind=classify(message),
        digest=digest,
        size=len(to_json(message)),
        tokens=0,  # counted by no counter, so its tokens are counted again when needed
        visibility=message.visibility,
        synthetic=message.is_synthetic,
        calls=calls_of(message),
        results=results_of(message),
    )
