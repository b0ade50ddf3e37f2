"""Says whether a gateway can take requests: `/readyz`, for a supervisor that sends traffic only to gateways that are ready."""

import asyncio
from collections.abc import Callable
from contextlib import closing

from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.own_endpoints import OwnAnswer
from pageturn.stores import open_store
from pageturn.values.errors import PageturnError

PATH = "/readyz"
_REMEMBERED = 2.0  # seconds for which a look at the store counts


class Readiness:
    """The endpoint. A gateway that drains what is on its way is not ready, and neither is one whose store cannot be opened."""

    def __init__(self, store: str | None, is_stopping: Callable[[], bool]) -> None:
        self._store = store
        self._is_stopping = is_stopping
        self._looked: tuple[float, str] = (float("-inf"), "")

    async def __call__(self, _headers: Headers, _body: bytes) -> OwnAnswer:
        """200 or 503, with the reason."""
        reason = "the gateway is stopping" if self._is_stopping() else await self._of_store()
        if reason:
            return OwnAnswer.json(503, {"status": "not ready", "reason": reason})
        return OwnAnswer.json(200, {"status": "ready"})

    async def _of_store(self) -> str:
        now = asyncio.get_running_loop().time()
        if now - self._looked[0] > _REMEMBERED:
            self._looked = (now, await asyncio.to_thread(self._look))
        return self._looked[1]

    def _look(self) -> str:
        if self._store is None:
            return ""
        try:
            with closing(open_store(self._store)) as store:
                store.sidecar_version()
        except (PageturnError, OSError) as error:
            return f"the store failed ({type(error).__name__})"
        return ""
