"""An embedder behind HTTP: what is sent, what comes back, and what happens when nothing does."""

import pytest

import pageturn as pt
from pageturn.recall.embedders import EmbedderFailed
from pageturn.recall.embedders.endpoint import EmbeddingEndpoint
from tests.formats.upstream import upstream
from tests.sessions import open_session


def vectors(*given):
    return {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(given)]}


def test_texts_are_sent_together_and_vectors_come_back_in_order():
    with upstream() as server:
        answer = vectors([3.0, 4.0], [0.0, 2.0])
        server.answer = {"data": answer["data"][::-1]}
        embedder = EmbeddingEndpoint(f"{server.url}/v1", "small", dimension=2, key="k")
        assert embedder.embed(["one", "two"]) == [[3.0, 4.0], [0.0, 2.0]]
        assert server.requests == [{"model": "small", "input": ["one", "two"]}]
        assert embedder.name == "small-2"


@pytest.mark.parametrize("answer", [{}, {"data": [{"index": 1, "embedding": [1.0]}]}, {"data": "text"}])
def test_an_answer_of_another_form_fails(answer):
    with upstream() as server:
        server.answer = answer
        with pytest.raises(EmbedderFailed, match="/embeddings: "):
            EmbeddingEndpoint(server.url, "small", dimension=2).embed(["secret"])


def test_an_endpoint_that_is_down_means_words_and_a_notice():
    with upstream() as server:
        url = server.url
    session = open_session(embedder=EmbeddingEndpoint(url, "small", dimension=2))
    session.append(pt.user("the walrus sings"))
    recalled = session.recall("walrus")
    assert [hit.excerpt for hit in recalled.hits] == ["the walrus sings"]
    assert recalled.notices[0].startswith("searched by words alone, the embedder has no answer: ")
    assert "ConnectError" in recalled.notices[0]


def test_a_url_of_another_kind_is_refused():
    with pytest.raises(pt.InvalidInput, match="url: expected"):
        EmbeddingEndpoint("ftp://host", "small", dimension=2)
