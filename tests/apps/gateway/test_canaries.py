"""Every kind of key that a gateway sees, searched in everything that it writes while it works, fails and is killed."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.stores import open_store
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, reply
from tests.apps.gateway.process import GatewayProcess
from tests.apps.gateway.test_telemetry import collector  # noqa: F401 - a fixture
from tests.apps.gateway.upstream import Reply

OF_VARIABLE, OF_FILE = "sk-upstream-canary-1111111111", "sk-upstream-canary-2222222222"
OF_CLIENT, TOKEN = "sk-client-canary-3333333333", "token-canary-4444444444"
SETTINGS = """
[upstreams.openai]
key = "env:OUR_KEY"
[upstreams.anthropic]
key = "file:{file}"
[models.coder]
candidates = [{{ upstream = "openai", model = "gpt-5" }}, {{ upstream = "openai", model = "gpt-5-mini" }}]
"""


@pytest.fixture
def keys(store, tmp_path):
    """The canaries by name, and the settings that refer to them."""
    secret = tmp_path / "secret" / "anthropic"
    secret.parent.mkdir()
    secret.write_text(OF_FILE)
    settings = tmp_path / "secret" / "config.toml"
    settings.write_text(SETTINGS.format(file=secret))
    with closing(open_store(str(store))) as opened:
        virtual, _ = Keys(opened).create("team", budget=50.0)
    return settings, {"of a variable": OF_VARIABLE, "of a file": OF_FILE, "of a client": OF_CLIENT, "virtual": virtual, "token": TOKEN}  # fmt: skip


@pytest.mark.parametrize("mode", ["watch", "recall"])
@pytest.mark.parametrize("given", ["virtual", "forwarded"])
def test_no_key_is_in_anything_that_is_written(upstream, ask, store, tmp_path, keys, collector, mode, given):  # noqa: F811
    file, canaries = keys
    variables = {"OUR_KEY": OF_VARIABLE, "PAGETURN_KEYS": given, "PAGETURN_TOKEN": TOKEN, "PAGETURN_OTLP": collector.url, "PAGETURN_METRICS": "on", "PAGETURN_LOGS": "json"}  # fmt: skip
    shown = []

    def asks(method, path, body=None, key=canaries["virtual"], **headers):
        own = {"authorization": f"Bearer {key}", "x-api-key": key, "cookie": key, "x-pageturn-token": TOKEN}
        answer = ask(gateway, method, path, body, {**own, **headers})
        shown.append(answer.read() + str(answer.getheaders()).encode())
        answer.connection.close()

    def fails(asked):
        return Reply([b'{"error": {"message": "overloaded"}}'], status=529, is_chunked=False)

    with GatewayProcess(store, upstream.url, "--mode", mode, "--config", str(file), variables=variables) as gateway:
        for answer in (lambda asked: reply(asked, "Hello."), fails, lambda _: Reply([b"<html>"]), lambda _: Reply([b"{"], is_cut=True)):  # fmt: skip
            upstream.answer = answer
            for path, model in ((CHAT, "coder"), (ANTHROPIC, "claude-opus-5"), (RESPONSES, "gpt-5")):
                key = "input" if path == RESPONSES else "messages"
                said = {"model": model, key: [{"role": "user", "content": "Hi."}], "max_tokens": 9, "stream": False}
                for who in (canaries["virtual"], OF_CLIENT):
                    try:
                        asks("POST", f"{path}?key={who}", json.dumps(said).encode(), who)
                    except Exception as error:  # noqa: BLE001 - a cut
                        shown.append(str(error).encode())
        upstream.answer = lambda _: Reply([b"{}"])
        asks("POST", CHAT, b"{", OF_CLIENT)
        asks("POST", "/outcomes", b'{"decision": "x", "outcome": "success"}')
        asks("GET", f"/v1/{canaries['virtual']}/../..")
        for path in ("/metrics", "/healthz", "/readyz"):
            asks("GET", path)
        if sys.platform == "linux":
            limits = Path(f"/proc/{gateway._process.pid}/limits").read_text()
            assert "Max core file size        0 " in limits
        gateway.stop()
        log = gateway.log
    assert "model call" in log
    assert collector.spans
    written = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file() and "secret" not in each.parts}
    assert store in written
    written |= {Path("the log"): log.encode(), Path("what clients were shown"): b"".join(shown)}
    written[Path("OTLP")] = b"".join(each.SerializeToString() for each in (*collector.traces, *collector.metrics))
    for name, canary in canaries.items():
        found = [str(place) for place, content in written.items() if canary.encode() in content]
        assert found == [], name
    assert os.environ.get("OUR_KEY") is None  # or else the canaries would be the machine's
