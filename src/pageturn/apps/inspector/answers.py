"""Answers what a browser asks: each view's data as JSON, from one thread that owns the store."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

import msgspec

from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.inspector.views.page import page_view
from pageturn.apps.inspector.views.routing import routing_view
from pageturn.apps.inspector.views.search import search_view
from pageturn.apps.inspector.views.session import page_rows, session_view
from pageturn.apps.inspector.views.session_list import SessionList
from pageturn.apps.inspector.views.turn import turn_view
from pageturn.values.errors import InvalidInput, show
from pageturn.values.masking import covered_json

T = TypeVar("T")

_PATIENCE = 0.4  # seconds that a browser waits for the list of sessions; it asks again for the rest
_LARGEST = 10**9


class Answers:
    """The data of every view. A store belongs to one thread, so everything is asked there, one after the other."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pageturn-inspector")
        self._opened: Opened | None = None
        self._list = SessionList()

    async def ask(self, view: Callable[[Opened], object]) -> bytes:
        """The JSON of a view, in which what looks like a key is covered."""
        # A view has nothing of a host's that would have to be looked through first, which takes fifty times as long.
        return await self._in_thread(lambda: covered_json(msgspec.json.encode(view(self._store()))))

    def close(self) -> None:
        """Let go of the store."""
        if self._opened is not None:
            self._thread.submit(self._opened.close).result()
        self._thread.shutdown()

    # -- the views

    def sessions(self, _: Mapping[str, str]) -> Callable[[Opened], object]:
        """The list of sessions."""

        def view(opened: Opened) -> object:
            end = monotonic() + _PATIENCE
            return self._list.view(opened, lambda: monotonic() < end)

        return view

    @staticmethod
    def session(asked: Mapping[str, str]) -> Callable[[Opened], object]:
        """One session; `trim` is the budget of the rolling trim."""
        trim = _whole(asked, "trim", 0) or None
        return lambda opened: session_view(opened.session(asked["session"]), trim)

    @staticmethod
    def pages(asked: Mapping[str, str]) -> Callable[[Opened], object]:
        """How the pages from `start` on begin, `count` of them."""
        start, count = _whole(asked, "start", 0), _whole(asked, "count", 100)
        return lambda opened: page_rows(opened.session(asked["session"]), start, count)

    @staticmethod
    def turn(asked: Mapping[str, str]) -> Callable[[Opened], object]:
        """A turn, its messages from `start` on; with `by=client` as the client of a gateway sent them."""
        number, start = _whole(asked, "turn", 0), _whole(asked, "start", 0)
        by_client = asked.get("by") == "client"
        return lambda opened: turn_view(opened.session(asked["session"]), number, start, by_client=by_client)

    @staticmethod
    def page(asked: Mapping[str, str]) -> Callable[[Opened], object]:
        """A page, its text from the character `start` on."""
        start = _whole(asked, "start", 0)
        return lambda opened: page_view(opened.session(asked["session"]), asked["page"], start)

    @staticmethod
    def search(asked: Mapping[str, str]) -> Callable[[Opened], object]:
        """Recall of `q`, in all sessions or in the one that is named."""
        return lambda opened: search_view(opened, asked.get("q", ""), asked.get("session") or None)

    @staticmethod
    def routing(asked: Mapping[str, str]) -> Callable[[Opened], object]:
        """The routing state of a scope."""
        return lambda opened: routing_view(opened, asked.get("scope") or None)

    # -- what changes

    async def changes(self, session: str | None, every_seconds: float) -> AsyncIterator[str]:
        """A mark of the session, or of all of them, whenever it is another one."""
        last = None
        while True:
            now = await self._in_thread(lambda: self._mark(session))
            if now != last:
                last = now
                yield now
            else:
                yield ""
            await asyncio.sleep(every_seconds)

    def _mark(self, session: str | None) -> str:
        opened = self._store()
        rows = [opened.row(session)] if session is not None else opened.rows()
        return f"{len(rows)}.{sum(row.head for row in rows)}.{opened.store.erasures()}"

    def _store(self) -> Opened:
        if self._opened is not None and not self._opened.is_current:
            self._opened.close()
            self._opened, self._list = None, SessionList()
        if self._opened is None:
            self._opened = Opened(self._place)
        return self._opened

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _whole(asked: Mapping[str, Any], name: str, default: int) -> int:
    given = str(asked.get(name, default))
    if not (given.isascii() and given.isdigit() and len(given) < len(str(_LARGEST))):
        raise InvalidInput(name, expected="a whole number", got=show(given))
    return int(given)
