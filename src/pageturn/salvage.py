"""Salvage: what can be said of an entry that the store cannot give any more.

The words of a message lie beside its entry, under their own digests. Where they are whole, and are no words of the host, the
page is made again from them: it has its number, its handle, its role and its calls, and only what nobody reads off the words,
its id and its exact time, is lost. Anything else may have been a rule, or the end of one, so it stays lost.
"""

from collections.abc import Callable

from pageturn.bodies import is_body, unpack
from pageturn.entries import Entry, EntryLost, MessageAdded
from pageturn.errors import PageturnError
from pageturn.handles import check_of
from pageturn.messages import Role
from pageturn.pages import Page, classify
from pageturn.references import calls_of, results_of
from pageturn.stores import Broken
from pageturn.wire import to_json

_NO_HOST = (Role.USER, Role.ASSISTANT, Role.TOOL)


def salvaged(broken: Broken, key: bytes, blob: Callable[[str], bytes]) -> Entry:
    """The entry of a message, made again from its words, or what stands for an entry that is lost."""
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
        tokens=0,  # by no counter, so whoever needs to know counts anew
        visibility=message.visibility,
        synthetic=message.is_synthetic,
        calls=calls_of(message),
        results=results_of(message),
    )
