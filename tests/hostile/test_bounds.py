"""What is bounded: how much is read, looked at, indexed or made at once; and what is read in pieces comes to the same."""

import gzip
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.apps.importing.files import FileSource
from pageturn.context.pairing import Pairing
from pageturn.context.renditions.content import material_of
from pageturn.formats.transcripts import source
from pageturn.formats.transcripts.source import Damaged
from pageturn.journal.apply import _take_out_reasoning
from pageturn.journal.state import SessionState
from pageturn.lab.billing import blocks_of
from pageturn.lab.demand import demand
from pageturn.lab.traces import Trace, estimated_tokens
from pageturn.stores.words import hidden_parts, terms
from pageturn.tokens.encodings import encoding, pieces
from pageturn.tokens.encodings.native import NativeEncoding
from pageturn.tokens.encodings.portable import PortableEncoding
from pageturn.values import text_pieces
from pageturn.values.identifiers import names_in
from pageturn.values.units import unanswered
from tests.hostile.entry_points import begun, call, step
from tests.sessions import forked, journal_of, reopened, store_of

# -- files


def test_a_packed_file_is_measured_by_what_it_unpacks_to(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LARGEST_WHOLE", 100_000)
    path = tmp_path / "log.json.gz"
    path.write_bytes(gzip.compress(b'{"messages":[' + b" " * 200_000 + b"]}"))
    assert path.stat().st_size < 1_000
    assert FileSource(path).whole() is source.msgspec.UNSET


def test_a_packed_file_is_read_line_by_line_up_to_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LARGEST_UNPACKED", 10_000)
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 5_000))
    *lines, last = FileSource(path).lines()
    assert isinstance(last, Damaged)
    assert "unpacks to more than" in last.reason
    assert 1_000 < len(lines) < 1_200


def test_lists_and_objects_are_counted_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MOST_CONTAINERS", 1_000)
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n[' + "{}," * 1_000 + "{}]\n" + '{"a": 2}\n')
    assert FileSource(path).whole() is source.msgspec.UNSET
    kinds = [type(line) for line in FileSource(path).lines()]
    assert kinds == [source.Line, Damaged, source.Line]


def test_values_that_are_glued_together_are_told_apart_at_any_blank(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}  {"a": 2}\t[3]{"a": 4}\n')
    assert [line.value for line in FileSource(path).lines()] == [{"a": 1}, {"a": 2}, [3], {"a": 4}]


# -- searching


def waiting(session):
    db = store_of(session)._connection
    return [len(text) for (text,) in db.execute("SELECT text FROM unindexed")]


def test_an_append_leaves_long_documents_to_whoever_searches():
    session = begun()
    session.extend(step(call(command="make"), "needle " + "QUJD" * 1_000_000))
    for number in range(100):
        session.append(pt.user(f"short {number}"))
    assert [size for size in waiting(session) if size > 1_000_000] == [4_000_007]
    assert len(waiting(session)) < 70, "short ones are brought in all the same"
    assert isinstance(session.recall("needle"), pt.Recalled)
    assert not waiting(session)


def test_an_append_brings_in_no_more_than_its_share():
    session = begun()
    for number in range(64):
        session.append(pt.user(f"number{number} " + "some words " * 2_000))
    assert sum(waiting(session)) > 64 * 22_000 - 300_000
    assert isinstance(session.recall("number63"), pt.Recalled)


def test_of_a_query_the_first_terms_count_and_of_a_long_one_its_beginning():
    assert len(terms(" ".join(f"word{number}" for number in range(1_000)))) == 64
    assert terms("a/" * 5_000) == [("a/" * 60)]
    assert terms("The Login in src/auth.py") == ["login", "src/auth.py", "auth.py"]


def test_encoded_data_has_no_hidden_parts():
    assert hidden_parts("aB" * 100_000) == ""
    assert hidden_parts("parseToken " + "aB" * 100_000) == "parse Token"


# -- texts in pieces

MIXED = "Some words, paths like src/a_b.py and camelCase1 names!\n\n  /x\n- 12,345 漢字かな。漢字 don't 'tis\r\n\tA1b2 "


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("kind", [NativeEncoding, PortableEncoding])
def test_tokens_are_the_same_in_pieces(monkeypatch, kind, name):
    counter = kind(name)
    texts = [
        MIXED * 40,
        "漢字、かな" * 200,
        "QUJD1" * 400,
        "x = 1\n" * 300,
        '{"id":12345,"v":[1,2]},' * 200,
    ]
    whole = [counter.count(text) for text in texts]
    monkeypatch.setattr(text_pieces, "_MOST", 1)
    for length in (130, 333):
        monkeypatch.setattr(pieces, "_LENGTH", length)
        assert [counter.count(text) for text in texts] == whole


@given(st.text(st.sampled_from("aBs12_ \n\r\t/.,!'-\"{漢。\u0301²"), max_size=60))
def test_a_text_that_is_cut_where_pieces_end_has_the_same_tokens(text):
    counter = encoding("o200k_base")
    whole = counter.count(text)
    for found in pieces.PIECES_END.finditer(text):
        assert counter.count(text[: found.end()]) + counter.count(text[found.end() :]) == whole


@pytest.mark.parametrize("line", ['{"id":12345,"v":[1,2]},', "QUJD1+/x", "key=value&", "12;", "word/"])
def test_a_text_without_blanks_has_places_where_pieces_end(line):
    text = line * 100
    ends = [found.end() for found in pieces.PIECES_END.finditer(text)]
    assert max(later - end for end, later in zip(ends, [*ends[1:], len(text)], strict=True)) <= 30


_RUNS = ["a", "-", "é", "[", "\0", "👍", "_", "=-", "abcdefghij", "漢", "0123456789", "éèàç", "\n", "bcab aa", "\u0301"]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("kind", [NativeEncoding, PortableEncoding])
@pytest.mark.parametrize("run", _RUNS)
def test_a_run_without_an_end_is_cut_and_counts_hardly_more(monkeypatch, kind, name, run):
    counter, counted = kind(name), []
    text = run * (40_000 // len(run))
    whole = counter.count(text)
    monkeypatch.setattr(text_pieces, "_MOST", 1)
    monkeypatch.setattr(pieces, "_LENGTH", 4_000)
    monkeypatch.setattr(
        counter, "_count", lambda piece, count=counter._count: counted.append(len(piece)) or count(piece)
    )
    assert whole <= counter.count(text) <= 1.2 * whole
    assert max(counted) <= 8_000


@given(st.text(st.sampled_from("abcdeéABC-_=[]{}'👍漢 0123456789\0"), max_size=90))
def test_a_cut_anywhere_hides_no_tokens(text):
    counter = encoding("o200k_base")
    with pytest.MonkeyPatch.context() as patch:
        whole = counter.count(text)
        patch.setattr(text_pieces, "_MOST", 1)
        patch.setattr(pieces, "_LENGTH", 7)
        assert whole <= counter.count(text)


def test_names_are_the_same_in_pieces(monkeypatch):
    text = MIXED * 30 + "→" + "base64" * 200 + " other_name"
    whole = list(names_in(text).items())
    names_in.cache_clear()
    monkeypatch.setattr(text_pieces, "_MOST", 100)
    assert list(names_in(text).items()) == whole


@given(st.text(max_size=40))
def test_the_pieces_are_the_text(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "_MOST", 5)
        assert "".join(text_pieces.pieces(text)) == text


# -- the same as before, in linear time


@given(st.text(st.sampled_from("ab\r\n"), max_size=30))
def test_a_progress_bar_is_told_as_its_expression_would(text):
    slow = re.sub(r"[^\r\n]*+\r(?=[^\r\n])", "", text).replace("\r", "")
    expected = slow if "\n" in text else text.replace("\r", "\n")
    assert material_of(text).text == re.sub(r"\n{3,}", "\n\n", expected)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12))
def test_spans_without_reasoning_are_those_that_were_given(spans):
    state = SessionState()
    for span in spans:
        _take_out_reasoning(state, span)
    covered = {page for first, last in spans for page in range(first + 1, last + 1)}
    pages = [pt.Session.open(":memory:").append(pt.user("x"))]
    told = {seq for seq in range(40) if state.is_unreasoned(pages[0].__class__(**{**_fields(pages[0]), "seq": seq}))}
    assert told == covered
    assert state.unreasoned == sorted(state.unreasoned)


def _fields(page):
    return {name: getattr(page, name) for name in page.__struct_fields__}


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abcd"), max_size=6))
def test_calls_that_share_an_id_are_answered_one_by_one(made, answered):
    session = begun()
    calls = [pt.ToolCall(id=each, name="read", arguments="{}") for each in made]
    session.append(pt.assistant("n", *calls))
    session.extend([pt.tool_result(each, "r") for each in answered] or [pt.user("x")])
    left = list(made)
    for each in answered:
        if each in left:
            left.remove(each)
    pages = tuple(session.reader.pages())[2:]
    assert unanswered(pages) == left
    assert sorted(each.id for each in session.pending()) == sorted(left)
    pairing = Pairing(lambda _: 1)
    for message in session.reader.messages():
        pairing.add(message, 1, "p")
    pending = [
        result.tool_call_id for message in pairing.messages if message.synthetic for result in message.tool_results
    ]
    assert pending == left


WORDS = st.lists(st.sampled_from(["src/a_b.py", "parse_token", "parse_token_list", "see", "x", "a_b.py"]), max_size=5)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6))
def test_what_calls_name_is_what_was_said_before(steps):
    said = []
    for number, (told, named) in enumerate(steps):
        said += [pt.user(" ".join(told)), pt.assistant(call("read", number, text=" ".join(named)))]
    before = ""
    for message, wanted in zip(said[1::2], demand(Trace("s", "x", tuple(said))), strict=True):
        before = "\n".join(_text(each) for each in said[: said.index(message)])
        named = names_in(message.tool_calls[0].arguments)
        assert wanted.identifiers == {name for name in named if name in before}


def _text(message):
    return message.text + "".join(f" {each.name} {each.arguments}" for each in message.tool_calls)


@pytest.mark.parametrize("count", [3, 64, 65, 300])
def test_blocks_sum_up_to_their_message(count):
    message = pt.user(*(f"part {number}" for number in range(count)))
    assert sum(tokens for _, tokens in blocks_of(message, estimated_tokens)) == estimated_tokens(message)


def test_a_fork_goes_on_from_the_state_that_reopening_gives():
    session = begun()
    session.pin("Never push.")
    session.derive()
    session.extend([pt.assistant("a"), pt.user("b")])
    fork = forked(session, "f")
    session.append(pt.user("only here"))
    fork.append(pt.user("only there"))
    again = reopened(fork)
    assert again.reader.state() == fork.reader.state()
    assert journal_of(again).spans == journal_of(fork).spans
    assert [message.text for message in fork.reader.messages()][-1] == "only there"
    assert json.loads(pt.to_json(again.derive().messages)) == json.loads(pt.to_json(fork.derive().messages))
