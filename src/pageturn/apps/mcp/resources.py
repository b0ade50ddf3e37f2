"""Sessions and pages as resources: the same answers as those of the tools `browse` and `resolve`, by address.

pageturn://session/ID                   the pages of a session
pageturn://session/ID/page/HANDLE       the text of a page
...?start=N                             from there on
"""

import re
from typing import NamedTuple

from pageturn.apps.mcp.answers import Answer, failed
from pageturn.apps.mcp.sessions import Sessions
from pageturn.apps.mcp.tools import Browse, Resolve, browse, resolve
from pageturn.values.faults import NoMatch
from pageturn.values.handles import HANDLE

_ADDRESS = re.compile(rf"pageturn://session/([A-Za-z0-9._-]{{1,128}})(?:/page/({HANDLE}))?(?:\?start=([0-9]{{1,15}}))?")
_LISTED = 50  # sessions at a time
TEMPLATES = (
    ("session", "pageturn://session/{id}{?start}", "The pages of a session, each with its beginning."),
    ("page", "pageturn://session/{id}/page/{handle}{?start}", "The text of a page, from a byte on."),
)


class Listed(NamedTuple):
    """Some of the sessions, and the cursor of the next ones."""

    ids: tuple[str, ...]
    next_cursor: str | None


def sessions_from(sessions: Sessions, cursor: str | None) -> Listed | None:
    """The sessions from a cursor on; None if the cursor is not ours."""
    if cursor is not None and re.fullmatch(r"[0-9]{1,9}", cursor) is None:
        return None
    rows, start = sessions.rows(), int(cursor or 0)
    ids = tuple(row.id for row in rows[start : start + _LISTED])
    return Listed(ids, str(start + _LISTED) if start + _LISTED < len(rows) else None)


def read(sessions: Sessions, address: str) -> Answer:
    """The session or the page at an address."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return failed(NoMatch("no such address; they are as pageturn://session/ID/page/HANDLE"))
    id_, handle, start = found[1], found[2], int(found[3] or 0)
    if handle is None:
        return browse(sessions, Browse(session=id_, start=start))
    return resolve(sessions, Resolve(handle=handle, session=id_, start=start))
