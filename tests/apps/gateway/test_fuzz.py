"""Random requests to every endpoint, most of them nearly right: never an error of ours that is no answer, and never a key in one."""

import json
import random

import pytest

from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.stores import open_store
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, reply
from tests.apps.gateway.upstream import Reply
from tests.long import examples, tell

TIMES = examples(250, whole=34_000)  # of each of three gateways
OURS = "sk-upstream-canary-0123456789"
SETTINGS = """
[upstreams.openai]
key = "env:OUR_KEY"
[upstreams.anthropic]
key = "env:OUR_KEY"
[models.coder]
candidates = [{ upstream = "openai", model = "gpt-5" }, { upstream = "anthropic", model = "claude-opus-5" }]
"""
PATHS = [CHAT, ANTHROPIC, RESPONSES, "/v1/models", "/v1/messages/count_tokens", "/outcomes", "/metrics", "/healthz", "/readyz", "/v1/files"]  # fmt: skip
OWN = ("/outcomes", "/metrics", "/healthz", "/readyz")
DOOR = ("refused; key", "refused; path", "refused; not understood")
VALUES = [None, True, 0, -1, 1.5, 10**30, "", "x", "gpt-5", "coder", "é\u2028\x00", "\ud83d", [], {}, [[]], [{}], {"type": "text"}, [{"role": "user"}]]  # fmt: skip
BODIES = [
    {"model": "coder", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 9, "stream": True},
    {"model": "gpt-5", "input": [{"role": "user", "content": "Hi."}], "previous_response_id": "resp_1", "metadata": {"user_id": "{}"}},
    {"model": "coder", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}], "tools": [{"name": "f", "input_schema": {}}]},
    {"decision": "019a", "outcome": "success", "weak": False},
]  # fmt: skip


def mutated(chance, value, depth=0):
    """A value of which a part is another."""
    if chance.random() < 0.08 or depth > 6:
        return chance.choice(VALUES)
    if isinstance(value, dict):
        kept = {name: mutated(chance, each, depth + 1) for name, each in value.items() if chance.random() > 0.04}
        return {**kept, **({chance.choice(["n", "user", "x" * 99, "model"]): chance.choice(VALUES)} if chance.random() < 0.1 else {})}  # fmt: skip
    if isinstance(value, list):
        return [mutated(chance, each, depth + 1) for each in value for _ in range(chance.choice((1, 1, 1, 2)))]
    return value


def request(chance, plain):
    """A request: method, path, body and headers."""
    body = json.dumps(mutated(chance, chance.choice(BODIES))).encode()
    if chance.random() < 0.2:
        at = chance.randrange(len(body) + 1)
        body = body[:at] + chance.randbytes(chance.randrange(4)) + body[at + chance.randrange(9) :]
    path = chance.choice(PATHS)
    if chance.random() < 0.2:
        at = chance.randrange(1, len(path) + 1)
        path = path[:at] + chance.choice(["/", "%2e%2e/", "?", "%", "//", "%ff", "*", "~", "?a=%0d%0a"]) + path[at:]
    headers = {"authorization": f"Bearer {plain}"} if chance.random() < 0.9 else {}
    for name in ("x-pageturn", "x-pageturn-session", "content-encoding", "traceparent", "chatgpt-account-id", "thread-id", "x-api-key"):  # fmt: skip
        if chance.random() < 0.1:
            headers[name] = chance.choice(["off", "gzip", "br", "a" * 500, "00-1-2-3", "é".encode().decode("latin-1"), plain])  # fmt: skip
    return chance.choice(["POST"] * 6 + ["GET", "PUT", "DELETE", "HEAD"]), path, body, headers


def is_ours(answered, path):
    """Whether an endpoint of ours has answered, or a decision on a call was made: it came further than to the door."""
    note = answered.getheader("x-pageturn") or ""
    return path in OWN or (note.startswith("refused; ") and note not in DOOR)


@pytest.mark.long
@pytest.mark.timeout(5_400)
@pytest.mark.parametrize(("keys", "mode"), [("forwarded", "recall"), ("virtual", "manage"), ("virtual", "watch")])
def test_no_request_makes_an_error_of_ours(started, ask, upstream, store, tmp_path, monkeypatch, keys, mode):
    monkeypatch.setenv("OUR_KEY", OURS)
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS)
    opened = open_store(str(store))
    plain, _ = Keys(opened).create("team", budget=1e6)
    opened.close()

    def answer(asked):
        try:
            return reply(asked, "Hello.")
        except Exception:  # noqa: BLE001 - the script does not know what to answer to nonsense
            return Reply([b"{}"], is_chunked=False)

    upstream.answer = answer
    chance = random.Random(f"{keys} {mode}")
    reached = handled = 0
    with started(file=file, keys=keys, mode=mode, room=4_000, metrics=True) as gateway:
        for _ in range(TIMES):
            sent = request(chance, plain)
            before = len(upstream.asked)
            answered = ask(gateway, *sent)
            shown = answered.read() + str(answered.getheaders()).encode()
            answered.connection.close()
            assert answered.status != 500, (sent, shown)
            assert b"Traceback" not in shown, sent
            assert OURS.encode() not in shown, sent
            reached += len(upstream.asked) > before
            handled += len(upstream.asked) > before or is_ours(answered, sent[1])
            upstream.asked.clear()
    tell(
        f"{TIMES} requests, {keys} keys, {mode}: {reached / TIMES:.0%} reached an upstream, {handled / TIMES:.0%} a handler"
    )
    assert reached > TIMES / 10  # or else nothing was tried
    assert handled > TIMES / 5
