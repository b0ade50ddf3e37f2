"""The inspector of a gateway, at `/inspect` of its own address, as `pageturn serve` starts it."""

import http.client
import json
import signal
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.apps.gateway.answers import ANTHROPIC, reply, request
from tests.apps.gateway.test_run import PAGETURN, running
from tests.apps.gateway.upstream import WAIT, Reply


@pytest.fixture
def serving(upstream, tmp_path, monkeypatch):
    """A process that serves, and the lines that it said when it began."""
    upstream.answer = lambda asked: reply(asked, "1")

    @contextmanager
    def serving_(*options, lines=4, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        bases = ["--anthropic", upstream.url, "--openai", f"{upstream.url}/v1"]
        command = [PAGETURN, "serve", "--port", "0", "--store", str(tmp_path / "s.db"), *bases]
        with running(*command, *options) as process:
            said = [process.stderr.readline() for _ in range(lines)]
            yield process, said[2].split(" mode at ")[1].split(";")[0], said

    return serving_


def get(url, path, **headers):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def talk(url):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT)
    connection.request("POST", "/v1/messages", json.dumps(request(ANTHROPIC, ["One."])))
    connection.getresponse().read()
    connection.close()


def test_the_address_that_it_prints_opens_the_inspector_of_its_sessions(serving):
    with serving() as (_, url, said):
        talk(url)
        address = said[3].split(": ")[2].strip()
        assert address.startswith(f"{url}/inspect/?token=")
        status, headers, _ = get(url, address.removeprefix(url))
        assert (status, headers["location"]) == (303, "/inspect/")
        cookie = headers["set-cookie"].partition(";")[0]
        status, _, body = get(url, "/inspect/", Cookie=cookie)
        assert (status, b'data-root="/inspect"' in body) == (200, True)
        turns = [0]
        while turns != [1]:  # what is watched is written beside the answer
            sessions = json.loads(get(url, "/inspect/data/", Cookie=cookie)[2])["sessions"]
            turns = [each["inside"]["turns"] for each in sessions if each["inside"]]
        assert get(url, f"/inspect/data/session/{sessions[0]['id']}/turn/1", Cookie=cookie)[0] == 200


def test_nobody_without_the_token_learns_anything(serving):
    with serving() as (_, url, _):
        assert get(url, "/inspect?token=x")[1]["location"] == "/inspect/?token=x"
        for path in ("/inspect/", "/inspect/?token=x", "/inspect/data/", "/inspect/live", "/inspect/assets/app.js"):
            assert get(url, path)[0] == 401
        assert get(url, "/inspect/data/", **{"x-pageturn-token": "x", "Authorization": "Bearer x"})[0] == 401


def test_a_token_of_the_operator_opens_it_and_is_not_shown(serving):
    with serving(PAGETURN_TOKEN="canary-token") as (_, url, said):
        assert "canary" not in "".join(said)
        assert said[3].endswith("/inspect/?token=TOKEN\n")
        assert get(url, "/inspect/", Authorization="Bearer canary-token")[0] == 200


def test_a_browser_that_listens_does_not_keep_the_gateway_from_stopping(serving):
    with serving(PAGETURN_TOKEN="t", PAGETURN_GRACE="3600") as (process, url, _):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT)
        connection.request("GET", "/inspect/live", headers={"Authorization": "Bearer t"})
        live = connection.getresponse()
        assert live.readline() == b"retry: 2000\n"
        process.send_signal(signal.SIGTERM)
        live.read()
        connection.close()
        assert "Traceback" not in process.communicate(timeout=WAIT)[1]


def test_the_settings_leave_it_out(serving, upstream):
    with serving(lines=3, PAGETURN_INSPECTOR="off") as (_, url, _):
        upstream.answer = lambda _: Reply((b"the upstream's own",))
        assert get(url, "/inspect/")[2] == b"the upstream's own"
        assert [asked.target for asked in upstream.asked] == ["/inspect/"]
