"""Admits only those who may look, and restricts what a page may do in the browser: nothing but show what this server sends."""

import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_COOKIE = "pageturn-token"
_NEAR = frozenset(("127.0.0.1", "localhost", "[::1]"))
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"  # text never becomes markup, not even by a mistake of ours
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Who may look: on loopback, whoever names this machine by its own name; with a token, whoever has it."""

    def __init__(self, app: ASGIApp, token: str | None, *, is_near: bool) -> None:
        self._app = app
        self._token = token
        self._is_near = is_near  # bound to loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse; every answer carries the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if self._is_near and _host(headers.get(b"host", "")) not in _NEAR:
            return PlainTextResponse("this server is known as 127.0.0.1 and localhost only\n", 421)
        if headers.get(b"sec-fetch-site") == "cross-site" and headers.get(b"sec-fetch-mode") != "navigate":
            return PlainTextResponse("another site may link to this page, and not read it\n", 403)
        if self._token is None or self._has_token(headers):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if given and self._is_token(given):
            answer = RedirectResponse(f"{scope.get('root_path', '')}/", 303)
            answer.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
            return answer
        advice = "a token is needed: open /?token=TOKEN once, or send Authorization: Bearer TOKEN\n"
        return PlainTextResponse(advice, 401, {"www-authenticate": "Bearer"})

    def _has_token(self, headers: Mapping[bytes, str]) -> bool:
        kind, _, given = headers.get(b"authorization", "").partition(" ")
        try:
            cookie = SimpleCookie(headers.get(b"cookie", "")).get(_COOKIE)
        except CookieError:
            cookie = None
        return (kind.lower() == "bearer" and self._is_token(given)) or (
            cookie is not None and self._is_token(cookie.value)
        )

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def _host(given: str) -> str:
    """The name in a Host header, without its port."""
    return given[: given.index("]") + 1] if given.startswith("[") and "]" in given else given.partition(":")[0].lower()
