"""Shows the sessions of a gateway in the inspector, at a path of the gateway's own."""

import secrets
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route

from pageturn.apps.gateway.config import Config
from pageturn.apps.inspector.opened import Place
from pageturn.apps.inspector.server import Inspector

PATH = "/inspect"


class Inspected:
    """The inspector of a gateway's store. It always needs a token: other users of this machine can reach its loopback address too."""

    def __init__(self, store: str, host: str, token: str | None) -> None:
        self._place = Place(store)
        self._host = host
        self._token = token or secrets.token_urlsafe(16)
        self._inspector: Inspector | None = None

    def address(self, url: str, *, shows_token: bool) -> str:
        """Where a browser finds it, below the URL of the gateway. A token that the operator chose is not shown."""
        return f"{url}{PATH}/?token={self._token if shows_token else 'TOKEN'}"

    def routes(self, is_stopping: Callable[[], bool]) -> list[BaseRoute]:
        """What the gateway answers with it."""
        self._inspector = Inspector(self._place, self._host, self._token, is_stopping)
        return [Route(PATH, _with_slash), Mount(PATH, app=self._inspector)]

    def close(self) -> None:
        """Let go of the store."""
        if self._inspector is not None:
            self._inspector.close()


def inspected_for(config: Config) -> Inspected | None:
    """As the settings say; None where nothing has the sessions."""
    if not config.inspector or config.store in (None, ":memory:"):
        return None
    return Inspected(config.store, config.host, config.token)


async def _with_slash(request: Request) -> RedirectResponse:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{PATH}/{query}")
