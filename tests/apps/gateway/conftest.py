"""A scripted upstream, and gateways in front of it."""

import http.client
from collections import Counter
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.running import mode_for
from pageturn.apps.gateway.server import Gateway
from tests.apps.gateway.unsure import UNSURE
from tests.apps.gateway.upstream import WAIT, upstream


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch, tmp_path):
    """No proxy and no setting of whoever runs the tests."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(name="upstream")
def _upstream():
    with upstream() as running:
        yield running


@pytest.fixture
def store(tmp_path):
    """The file that the gateway writes to."""
    return tmp_path / "watched.db"


@pytest.fixture
def started(upstream, store):
    """A gateway in front of the upstream, as a context: what it saw is in the store when it is left."""

    @contextmanager
    def start(own=None, /, *, file=None, variables=(), **flags):
        bases = {"anthropic": upstream.url, "openai": f"{upstream.url}/v1"}
        environ = {"PAGETURN_GEMINI_URL": upstream.url, "PAGETURN_CHATGPT_URL": f"{upstream.url}/account"}
        config = load_config({"port": 0, "store": str(store), **bases, **flags}, file, {**environ, **dict(variables)})
        mode = own or mode_for(config)
        with Gateway(config, mode) as gateway:
            gateway.mode = mode
            yield gateway

    return start


@pytest.fixture
def ask():
    """Ask a gateway by nothing but the standard library; the answer's body may be read piece by piece."""
    connections = []

    def ask_(gateway, method, target, body=None, headers=(), *, chunked=False):
        connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=WAIT)
        connections.append(connection)
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in dict(headers).items():
            connection.putheader(name, value)
        if body is not None and not chunked:
            connection.putheader("Content-Length", str(len(body)))
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders(body, encode_chunked=chunked)
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    yield ask_
    for connection in connections:
        connection.close()


def pytest_terminal_summary(terminalreporter):
    """Print the share of random clients' requests that passed as unsure."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    found = [
        dict(getattr(report, "user_properties", ())) for report in reports if getattr(report, "when", "") == "call"
    ]
    unsure = sum((Counter(each[UNSURE]) for each in found if UNSURE in each), start=Counter())
    if requests := unsure.pop("requests", 0):
        reasons = "".join(f"; {reason} ({number})" for reason, number in unsure.most_common())
        share = f"{sum(unsure.values()):,} of {requests:,} requests of random clients passed as unsure"
        terminalreporter.write_line(f"{share}{reasons}")
