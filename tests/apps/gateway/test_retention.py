"""Words that went by age are no words that somebody destroyed: a client may say them again."""

import json

import pageturn as pt
from tests.apps.cli.command import run
from tests.apps.gateway.answers import CHAT, reply

TEXT = "Please look at the login again, it returns 500 since yesterday. " * 5


def test_a_client_says_again_what_went_by_age(started, ask, upstream, store):
    upstream.answer = lambda asked: reply(asked, "I will.")
    body = json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": TEXT}]}).encode()
    names = []
    for name in ("first", "second"):
        with started() as gateway:
            ask(gateway, "POST", CHAT, body, {"x-pageturn-session": name}).read()
        names.append(str(pt.SessionReader.open(str(store), name).messages()))
        assert run("retain", store, "--older-than", "0d", "--yes").returncode == 0
    assert all("login" in each for each in names)
    assert TEXT.encode()[:60] not in store.read_bytes()
