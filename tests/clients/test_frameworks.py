"""LangChain and Pydantic AI through the gateway by a base URL alone, in environments of their own: `make test-clients`."""

import os
import subprocess
from pathlib import Path

import pytest

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.running import mode_for
from pageturn.apps.gateway.server import Gateway
from tests.clients.installed import FRAMEWORKS
from tests.clients.provider import provider
from tests.clients.test_sdks import LAST, read_both, require_journal

PROGRAMS = Path(__file__).parent / "frameworks"

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PAGETURN_CLIENTS"), reason="other frameworks: make test-clients"),
    pytest.mark.skipif(not FRAMEWORKS.exists(), reason="LangChain and Pydantic AI are not installed"),
]


@pytest.mark.parametrize("mode", ["watch", "manage", "recall"])
@pytest.mark.parametrize("vendor", ["anthropic", "chat", "responses"])
@pytest.mark.parametrize("framework", ["langchain", "pydantic_ai"])
def test_a_framework_by_its_base_url_alone(framework, vendor, mode, tmp_path):
    store = tmp_path / "gateway.db"
    with provider(read_both) as upstream:
        flags = {"mode": mode, "port": "0", "anthropic": upstream.url, "openai": f"{upstream.url}/v1"}
        config = load_config({**flags, "store": str(store)}, None, {})
        with Gateway(config, mode_for(config)) as gateway:
            done = subprocess.run(
                [FRAMEWORKS, PROGRAMS / f"of_{framework}.py", gateway.url, vendor],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                env={**os.environ, "NO_PROXY": "127.0.0.1", "LANGSMITH_TRACING": "false"},
            )
        assert upstream.refused == []
    assert done.stdout == LAST, done.stderr[-2000:]
    require_journal(store)
