"""The gateway's own endpoints do what their OpenAPI document says; schemathesis, where it is installed, tries to disprove it."""

import http.client
import json
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from tests.apps.gateway.answers import CHAT
from tests.apps.gateway.test_routes import two  # noqa: F401 - a fixture
from tests.long import examples, tell
from tools.openapi import FILE, document

TIMES = examples(50, whole=5_000)  # of each operation


def test_the_file_is_what_the_code_says():
    assert json.loads(FILE.read_text()) == document(), "run: python -m tools.openapi"


def test_every_endpoint_of_ours_is_in_it_and_nothing_else(two):  # noqa: F811
    with two(metrics=True) as gateway:
        app = gateway._server.config.app
        proxy = app.routes[-1].app
    ours = {(method.lower(), path) for method, path in proxy._own}
    told = {(method, path) for path, each in document()["paths"].items() for method in each}
    assert ours == told


@pytest.mark.long
def test_schemathesis_finds_nothing(two, ask):  # noqa: F811
    """Every answer has a status, a type and a form that the document names; valid requests are not refused as malformed."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: make test-openapi")

    schema = schemathesis.openapi.from_dict(document())
    statuses = {}
    with two(metrics=True) as gateway:
        asked = http.client.HTTPConnection(urlsplit(gateway.url).netloc)
        body = json.dumps({"model": "coder", "messages": [{"role": "user", "content": "Hi."}]})
        asked.request("POST", CHAT, body)
        answer = asked.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        asked.close()
        for operation in (each.ok() for each in schema.get_all_operations()):
            for mode in schemathesis.GenerationMode:

                @settings(max_examples=TIMES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
                @given(case=operation.as_strategy(generation_mode=mode))
                def holds(case):
                    answered = case.call(base_url=gateway.url)
                    case.validate_response(answered, excluded_checks=excluded(schemathesis))
                    statuses[answered.status_code] = statuses.get(answered.status_code, 0) + 1

                with suppress(Unsatisfiable):  # what takes no parameters has no malformed form
                    holds()
    tell(f"{sum(statuses.values())} requests: {statuses}")
    assert statuses[200] > 0
    assert 500 not in statuses


def excluded(schemathesis):
    """Checks of what the document does not say: other methods are the provider's, and no token is needed on this machine alone."""
    checks = schemathesis.checks
    names = ("unsupported_method", "ignored_auth", "negative_data_rejection", "positive_data_acceptance")
    return [found for name in names if (found := getattr(checks, name, None) or getattr(schemathesis.specs.openapi.checks, name, None))]  # fmt: skip
