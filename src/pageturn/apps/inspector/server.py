"""Serves the inspector: its pages, their data under `/data`, and news under `/live` while an agent runs."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from hashlib import blake2b
from html import escape
from importlib.resources import files
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pageturn.apps.addresses import is_loopback, url_of
from pageturn.apps.inspector.answers import Answers
from pageturn.apps.inspector.guard import Guard
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.serving import listening_at, require_token, run_app
from pageturn.values.errors import InvalidInput, PageturnError

_LOG = logging.getLogger("pageturn.inspector")
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
_MOST_LISTENING = 32  # browsers that wait for news
_EVERY_SECONDS = 0.7  # between two looks at the store
_SILENT = 20  # looks without news, until a comment shows whether the browser is still there
_MOST_CLIENTS = 96
_NEVER_KEPT = {"cache-control": "no-store"}
_GRACE = 1  # second for what is on its way when the server stops

View = Callable[[Mapping[str, str]], Callable[[Opened], object]]
Endpoint = Callable[[Request], Awaitable[Response]]


class _Asset(NamedTuple):
    body: bytes
    type: str
    etag: str


class Inspector:
    """The inspector as an ASGI app, which may be mounted under a path of another one. Whoever makes it closes it."""

    def __init__(
        self,
        place: Place,
        host: str = "127.0.0.1",
        token: str | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._site = site = _Site(place, is_stopping)
        answers = site.answers
        views: dict[str, View] = {
            "/": answers.sessions,
            "/search": answers.search,
            "/routing": answers.routing,
            "/session/{session}": answers.session,
            "/session/{session}/turn/{turn:int}": answers.turn,
            "/session/{session}/page/{page}": answers.page,
        }
        routes = [
            *(Route(f"/data{path}", site.data(view)) for path, view in views.items()),
            Route("/data/session/{session}/pages", site.data(answers.pages)),
            Route("/live", site.live),
            Route("/assets/{name}", site.asset),
            *(Route(path, site.page) for path in views),
        ]
        self._app = Guard(Starlette(routes=routes), token, is_near=is_loopback(host))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser."""
        await self._app(scope, receive, send)

    def close(self) -> None:
        """Let go of the store."""
        self._site.answers.close()


class _Site:
    """The endpoints."""

    def __init__(self, place: Place, is_stopping: Callable[[], bool]) -> None:
        self.answers = Answers(place)
        self._is_stopping = is_stopping
        self._assets = dict(_assets())
        self._shell = self._assets.pop("index.html").body.decode()
        self._listening = 0

    async def page(self, request: Request) -> Response:
        """The page of every view: the same file, which asks for the data of its address."""
        root = escape(str(request.scope.get("root_path", "")), quote=True)
        shell = self._shell.replace("{{root}}", root)
        return Response(shell, media_type="text/html", headers={"cache-control": "no-cache"})

    async def asset(self, request: Request) -> Response:
        """A file of the page."""
        found = self._assets.get(request.path_params["name"])
        if found is None:
            return _refused("no such file", 404)
        headers = {"etag": found.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.etag:
            return Response(status_code=304, headers=headers)
        return Response(found.body, media_type=found.type, headers=headers)

    def data(self, view: View) -> Endpoint:
        """The endpoint of a view's data."""

        async def answer(request: Request) -> Response:
            asked = {**request.query_params, **{name: str(value) for name, value in request.path_params.items()}}
            try:
                body = await self.answers.ask(view(asked))
            except InvalidInput as error:
                return _refused(str(error), 404)
            except PageturnError as error:
                return _refused(str(error), 503)
            except Exception as error:  # noqa: BLE001 - a browser gets no more than the kind of the error
                _LOG.warning("a view failed: %s", type(error).__name__)
                return _refused(f"the inspector could not answer ({type(error).__name__})", 500)
            return Response(body, media_type="application/json", headers=_NEVER_KEPT)

        return answer

    async def live(self, request: Request) -> Response:
        """News of a session, or of all of them, for as long as the browser listens."""
        if self._listening >= _MOST_LISTENING:
            return _refused(f"{_MOST_LISTENING} browsers are listening already", 503)
        news = self._news(request.query_params.get("session"))
        return StreamingResponse(news, media_type="text/event-stream", headers=_NEVER_KEPT)

    async def _news(self, session: str | None) -> AsyncIterator[str]:
        self._listening += 1
        silent = 0
        try:
            yield "retry: 2000\n\n"
            async for mark in self.answers.changes(session, _EVERY_SECONDS):
                silent = 0 if mark else silent + 1
                if mark:
                    yield f"event: changed\ndata: {mark}\n\n"
                elif silent % _SILENT == 0:
                    yield ": still here\n\n"
                if self._is_stopping():
                    return  # or else the server would wait for it
        except PageturnError as error:
            yield f"event: failed\ndata: {type(error).__name__}\n\n"
        finally:
            self._listening -= 1


def serve(place: Place, host: str, port: int, token: str | None, say: Callable[[str], None]) -> None:
    """Answer browsers until a signal says to stop. Any address but loopback needs a token. `say` is called with the address."""
    require_token(host, token)
    Opened(place).close()  # so that a store that cannot be opened is reported at once
    listening = listening_at(host, port)
    say(f"{url_of(listening)}/")
    inspector = Inspector(place, host, token)
    try:
        run_app(inspector, listening, most_clients=_MOST_CLIENTS, grace_seconds=_GRACE)
    finally:
        inspector.close()


def _refused(what: str, status: int) -> Response:
    return JSONResponse({"error": what}, status, _NEVER_KEPT)


def _assets() -> list[tuple[str, _Asset]]:
    """The files of the page, read once: only these can be asked for."""
    found = []
    for file in files("pageturn.apps.inspector").joinpath("assets").iterdir():
        ending = file.name.rpartition(".")[2]
        if ending in _TYPES:
            body = file.read_bytes()
            found.append((file.name, _Asset(body, _TYPES[ending], f'"{blake2b(body, digest_size=8).hexdigest()}"')))
    return found
