"""Bodies: messages as blobs and back, large texts on their own."""

from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.journal.blobs import LARGE, digests, pack, unpack
from pageturn.values.digests import digest_of
from pageturn.values.messages import File, Text, Thinking, ToolResult
from pageturn.values.search_text import search_text
from tests import strategies


def round_trip(message):
    packed = pack(message)
    return unpack(packed.blobs[packed.digest], packed.blobs.__getitem__)


@given(strategies.messages, st.integers(0, 3), st.text("aé日👩", min_size=1, max_size=3))
def test_a_message_comes_back_whole_whatever_its_size(message, parts, letters):
    large = tuple(Text(text=letters * LARGE) for _ in range(parts))
    message = pt.Message(role=message.role, content=(*message.content, *large), metadata={"big": letters * 5_000})
    assert round_trip(message) == message


def test_large_texts_are_blobs_of_their_own():
    body = "x" * (LARGE + 1)
    packed = pack(pt.tool_result("c", body))
    assert packed.blobs[digest_of(body.encode())] == body.encode()
    assert digests(packed.blobs[packed.digest]) == (digest_of(body.encode()),)
    assert len(packed.blobs[packed.digest]) < 400
    assert len(pack(pt.tool_result("c", body[:-1])).blobs) == 1


def test_the_id_is_not_part_of_the_body():
    assert (
        pack(pt.Message(id="a", role="user", content=())).digest
        == pack(pt.Message(id="b", role="user", content=())).digest
    )


def test_different_large_texts_make_different_bodies():
    assert pack(pt.user("a" * 9_000)).digest != pack(pt.user("b" * 9_000)).digest


def test_what_can_be_searched_is_what_was_said():
    message = pt.assistant(
        "look",
        Thinking(text="hm", redacted="opaque"),
        pt.ToolCall(id="c", name="read", arguments='{"path":"a.py"}'),
        File(path="report.pdf"),
        pt.Image(url="data:image/png;base64,AAAA"),
        ToolResult(tool_call_id="c", content=(Text(text="body"), File(path="data:text/plain,x"))),
    )
    assert search_text(message) == 'look\nhm\nread\n{"path":"a.py"}\nreport.pdf\nbody'
