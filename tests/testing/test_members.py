"""Our own renderers, counters, summarizers and rerankers pass the suites that a user's have to pass; stores and policies do so in their rooms."""

import pytest

import pageturn as pt
from pageturn.context.renditions import BUILT_IN
from pageturn.testing import counter_cases, renderer_cases, summarizer_cases
from pageturn.tokens.counters import counter_for
from pageturn.values.errors import SummaryFailed
from pageturn.writeback.summaries import Extractive, ModelSummarizer, RoutedSummarizer

MODELS = ["gpt-5.4", "gpt-4", "claude-opus-4-6", "gemini-3-flash", "my-own-model"]


@pytest.mark.parametrize("type", BUILT_IN.by_type)
@pytest.mark.parametrize("case", renderer_cases(), ids=str)
def test_every_renderer(case, type):
    case(BUILT_IN.by_type[type])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("case", counter_cases(), ids=str)
def test_every_counter(case, model):
    case(lambda: counter_for(model))


class Echo:
    """A model that answers with the words of the record that begin it."""

    model = "echo"

    def complete(self, instructions, text, *, most_tokens, stop):
        if stop.is_set:
            raise SummaryFailed("nobody waits for it")
        record = text.partition("\n\n")[2]
        return " ".join(word for word in record.split()[:110] if "-abcd" not in word)


SUMMARIZERS = {
    "extractive": Extractive,
    "model": lambda: ModelSummarizer(Echo()),
    "routed": lambda: RoutedSummarizer([Extractive()], pt.Router.open(":memory:")),
}


@pytest.mark.parametrize("name", SUMMARIZERS)
@pytest.mark.parametrize("case", summarizer_cases(), ids=str)
def test_every_summarizer(case, name):
    case(SUMMARIZERS[name])
