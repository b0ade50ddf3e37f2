"""Who gets an answer, with which headers, and what an address answers."""

import asyncio
import http.client
import json

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import pageturn as pt
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.inspector.server import Inspector
from pageturn.values.errors import InvalidInput
from tests.apps.cli.command import run
from tests.apps.inspector.serving import get, serving
from tests.sessions import open_session
from tests.test_dependencies import COMMAND, without

TOKEN = "canary-token"


@pytest.fixture(scope="module")
def port(kept):
    with serving(kept.file) as found:
        yield found


PAGES = [
    "/",
    "/search?q=x",
    "/routing",
    "/session/login-bug",
    "/session/login-bug/turn/3",
    "/session/login-bug/page/p1-aaaa",
]


@pytest.mark.parametrize("path", PAGES)
def test_every_view_has_an_address_and_a_strict_policy(port, path):
    status, headers, body = get(port, path)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "trusted-types 'none'" in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert b"http://" not in body.replace(b"http://www.w3.org", b"")
    assert b"https://" not in body
    assert b"{{" not in body


def test_no_file_of_the_page_names_another_server(port):
    _, _, shell = get(port, "/")
    seen, names = set(), ["app.js", "style.css", "dark.css", "icon.svg"]
    while names:
        name = names.pop()
        seen.add(name)
        status, headers, body = get(port, f"/assets/{name}")
        assert status == 200, name
        assert b"//" not in body.replace(b"// ", b"").replace(b"http://www.w3.org/2000/svg", b""), name
        names += [each.split('"')[0] for each in body.decode().split('from "./')[1:] if each.split('"')[0] not in seen]
        assert get(port, f"/assets/{name}", if_none_match=headers["etag"])[0] == 304
    assert len(seen) >= 12
    assert b"/assets/app.js" in shell


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/data/", 200),
        ("/data/session/login-bug", 200),
        ("/data/session/login-bug?trim=500", 200),
        ("/data/session/login-bug/pages?start=2&count=3", 200),
        ("/data/session/login-bug/turn/3", 200),
        ("/data/session/login-bug/turn/3?by=client&start=2", 200),
        ("/data/search?q=compute_12&session=login-bug", 200),
        ("/data/routing", 200),
        ("/data/session/nobody", 404),
        ("/data/session/..%2f..%2fetc", 404),
        ("/data/session/login-bug/turn/999", 404),
        ("/data/session/login-bug/turn/3?start=-1", 404),
        ("/data/session/login-bug/pages?count=99999999999999999999", 404),
        ("/data/session/login-bug/page/p1-aaaa", 404),
        ("/data/search?q=" + "x" * 3_000, 404),
        ("/data/routing?scope=../x", 404),
        ("/assets/../server.py", 404),
        ("/assets/%2e%2e%2fserver.py", 404),
        ("/assets/index.html", 404),
        ("/nothing", 404),
    ],
)
def test_an_address_answers_with_json_or_with_what_is_wrong(port, path, status):
    found, headers, body = get(port, path)
    assert found == status
    if path.startswith("/data/") and b"Not Found" not in body:
        assert headers["content-type"] == "application/json"
        assert headers["cache-control"] == "no-store"
        assert ("error" in json.loads(body)) is (status != 200)
    assert b"Traceback" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_only_reading_is_answered(port, method):
    assert get(port, "/data/", method)[0] == 405


def test_another_name_of_this_machine_is_refused_and_so_is_another_site(port):
    assert get(port, "/data/", host="evil.example")[0] == 421
    assert get(port, "/data/", host="127.0.0.1.evil.example:80")[0] == 421
    assert get(port, "/data/", host="localhost:1")[0] == 200
    assert get(port, "/data/", host="[::1]:1")[0] == 200
    assert get(port, "/data/", sec_fetch_site="cross-site", sec_fetch_mode="no-cors")[0] == 403
    assert get(port, "/", sec_fetch_site="cross-site", sec_fetch_mode="navigate")[0] == 200


def test_a_token_is_asked_for_kept_in_a_cookie_and_never_logged(kept):
    with serving(kept.file, token=TOKEN) as port:
        assert get(port, "/data/")[0] == 401
        assert get(port, "/assets/app.js")[0] == 401
        assert get(port, "/?token=wrong")[0] == 401
        assert get(port, "/data/", authorization="Bearer wrong")[0] == 401
        assert get(port, "/data/", authorization=f"Bearer {TOKEN}")[0] == 200
        status, headers, _ = get(port, f"/?token={TOKEN}")
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=strict" in headers["set-cookie"]
        assert get(port, "/data/", cookie=headers["set-cookie"].split(";")[0])[0] == 200
        assert get(port, "/data/", cookie="pageturn-token=wrong")[0] == 401


def test_any_address_but_loopback_needs_a_token(kept):
    done = run("inspect", kept.file, "--host", "0.0.0.0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "token: expected one, since 0.0.0.0 is not this machine alone" in done.stderr


@pytest.mark.parametrize("content", [None, b"", b"not a database at all, but long enough to be looked at" * 40])
def test_a_store_that_is_none_is_said_in_a_line(tmp_path, content):
    file = tmp_path / "a.db"
    if content is not None:
        file.write_bytes(content)
    done = run("inspect", str(file))
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "a.db" in done.stderr
    assert file.exists() is (content is not None)


def test_news_come_while_a_session_is_written(tmp_path):
    file = tmp_path / "a.db"
    with open_session(file, id="s") as session, serving(file) as port:
        session.append(pt.user("one"))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/live?session=s")
        answer = connection.getresponse()
        assert answer.getheader("content-type").startswith("text/event-stream")

        def mark():
            while not (line := answer.readline()).startswith(b"data:"):
                assert line, "the stream ended"
            return line

        first = mark()
        session.append(pt.user("two"))
        assert mark() != first
        connection.close()
        assert get(port, "/data/session/s")[0] == 200


def test_a_file_that_is_replaced_is_opened_again(tmp_path):
    file = tmp_path / "a.db"
    for name in ("first", "second"):
        with open_session(tmp_path / f"{name}.db", id=name) as session:
            session.append(pt.user("hello"))
    (tmp_path / "first.db").rename(file)
    with serving(file) as port:
        assert get(port, "/data/session/first")[0] == 200
        file.unlink()
        status, _, body = get(port, "/data/")
        assert (status, b"not there" in body) == (404, True)
        (tmp_path / "second.db").rename(file)
        assert get(port, "/data/session/first")[0] == 404
        assert get(port, "/data/session/second")[0] == 200


def test_it_can_be_mounted_under_a_path_of_another_server(kept):
    inspector = Inspector(Place(kept.file))
    app = Starlette(routes=[Mount("/inspect", inspector)])
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    async def ask(path):
        sent.clear()
        headers = [(b"host", b"127.0.0.1:8787")]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "scheme": "http",
            "server": ("127.0.0.1", 8787),
            "client": ("127.0.0.1", 1),
        }
        await app(scope, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)

    status, body = asyncio.run(ask("/inspect/session/login-bug"))
    assert status == 200
    assert b'src="/inspect/assets/app.js"' in body
    assert b'data-root="/inspect"' in body
    assert asyncio.run(ask("/inspect/data/"))[0] == 200
    inspector.close()


def test_without_its_packages_the_command_names_the_extra():
    shown = without("starlette", code="import sys; sys.argv[1:] = ['inspect', 'a.db']\n" + COMMAND)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == "pageturn: the inspector needs more packages: pip install 'pageturn[inspector]'\n"


def test_a_place_in_memory_is_refused():
    with pytest.raises(InvalidInput, match="the file of a store"):
        Opened(Place(":memory:"))


def test_what_looks_like_a_key_is_covered_in_every_view_and_whole_in_the_store(tmp_path):
    """Also where a piece of a long text ends in the middle of one: the rest of it is in no other piece."""
    file, key = tmp_path / "keys.db", "sk-canary-0123456789abcdef"
    with open_session(file, id="keys") as session:
        session.append(pt.user(f"My key is {key}, use it."))
        session.pin(f"Authenticate with {key}.")
        session.derive()
        asked = pt.ToolCall(id="c1", name="env", arguments=json.dumps({"api_key": key}))
        session.append(pt.assistant(f"I use {key}.", asked))
        page = session.append(pt.tool_result(asked, f"{'x ' * 9_993}{key} {'y ' * 9_999}"))
        session.derive()
        session.append(pt.assistant("done"))
    views = ["/", f"/search?q={key}", "/search?q=key", "/session/keys", "/session/keys/pages", "/session/keys/turn/1", "/session/keys/turn/2"]  # fmt: skip
    views += [f"/session/keys/page/{page.handle}", f"/session/keys/page/{page.handle}?start=20000"]
    with serving(file) as found:
        shown = {view: get(found, f"/data{view}")[2].decode() for view in views}
    assert [view for view, text in shown.items() if key in text] == []
    pieces = [str(json.loads(shown[view])["parts"]) for view in views[-2:]]
    assert all(key[-8:] not in piece for piece in pieces)
    assert "sk-•" in shown["/session/keys/turn/2"]
    with Opened(Place(str(file))) as opened:
        assert key in str(opened.session("keys").reader.messages())
