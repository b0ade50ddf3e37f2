"""Recall: what was ever said is found, by words or by handle, or a fault says why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.stores import MemoryStore
from pageturn.values.handles import check_of, handle, parse
from pageturn.values.messages import developer
from tests.sessions import open_session, take_turn


def test_a_hit_says_where_it_comes_from():
    session = open_session()
    session.append(pt.user("look into it"))
    session.append(pt.assistant(pt.ToolCall(id="c", name="read_file", arguments='{"path":"src/auth/login.py"}')))
    page = session.append(pt.tool_result("c", "def login():\n    raise KeyError('exp')"))
    hit = session.recall("KeyError exp").hits[0]
    assert (hit.handle, hit.session, hit.turn) == (page.handle, "s", 2)
    assert (hit.role, hit.kind, hit.tool) == (pt.Role.TOOL, pt.PageKind.EVIDENCE, "read_file")
    assert (hit.size, hit.digest, hit.shown) == (page.size, page.digest, None)
    assert "raise KeyError" in hit.excerpt
    assert session.recall("login.py").hits[0].tool == "read_file"


def test_the_excerpt_surrounds_the_match():
    session = open_session()
    session.append(pt.tool_result("c", "filler " * 500 + "the needle is here " + "filler " * 500))
    excerpt = session.recall("needle").hits[0].excerpt
    assert "the needle is here" in excerpt
    assert excerpt.startswith("... ")
    assert len(excerpt) < 320


def test_the_limit_holds_although_undone_pages_match_better():
    session = open_session()
    for number in range(4):
        session.extend([pt.user(f"walrus {number}"), pt.assistant("ok")])
    for _ in range(30):
        session.extend([pt.user("walrus walrus walrus"), pt.assistant("ok")])
    session.undo(30)
    assert len(session.recall("walrus", limit=3).hits) == 3
    assert {hit.excerpt for hit in session.recall("walrus", limit=10).hits} == {f"walrus {n}" for n in range(4)}


@pytest.mark.parametrize("query", ["zebra", "", "   ", "the of and", "?!", '"'])
def test_nothing_found_is_a_fault_and_is_recorded(query):
    session = open_session()
    session.append(pt.user("hello"))
    assert session.recall(query) == pt.NoMatch()
    assert session.reader.faults()[-1].entry.fault == pt.NoMatch()


@pytest.mark.parametrize(
    "act",
    [
        lambda session: session.recall("hunter2xyz"),
        lambda session: session.recall("hunter2xyz", scope="team"),
        lambda session: session.resolve("hunter2xyz"),
        lambda session: session.resolve("p1-hunt hunter2xyz"),
    ],
)
def test_what_was_asked_for_in_vain_is_not_kept_in_words(tmp_path, act):
    """Whoever makes sure that a secret is erased asks for the secret."""
    with pt.Session.open(tmp_path / "s.db", id="s") as session:
        session.append(pt.user("hello"))
        assert isinstance(act(session), pt.Fault)
        assert isinstance(act(session), pt.Fault)
        first, second = (record.entry.detail for record in session.reader.faults())
        assert first == second
        assert first.startswith("query ")
    assert b"hunter2xyz" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_the_digest_of_a_query_is_keyed_by_the_session():
    details = set()
    for seed in (1, 2):
        session = open_session(seed=seed)
        session.recall("zebra")
        session.recall("walrus")
        details |= {record.entry.detail for record in session.reader.faults()}
    assert len(details) == 4


def test_a_handle_that_fails_is_kept_as_it_is():
    session = open_session()
    session.resolve("p9-abcd")
    call = pt.ToolCall(id="r", name="recall", arguments='{"handle": "p9-abcd..p12-abcd"}')
    session.append(pt.assistant(call))
    assert session.answer()
    assert [record.entry.detail for record in session.reader.faults()] == ["p9-abcd", "p9-abcd..p12-abcd"]


def test_four_failures_have_four_codes():
    store = MemoryStore()
    session = open_session(store)
    page = session.append(pt.user("hello world"))
    assert session.recall("zebra").code == "no_match"
    assert session.recall("hello", scope="team").code == "denied"
    store._connection.execute("DELETE FROM blobs")
    assert session.recall("hello").code == "backend_error"
    assert session.resolve(page.handle).code == "backend_error"
    store._connection.execute("DROP TABLE words")
    assert session.recall("hello").code == "backend_error"
    assert session.reader.fault_counts() == {"no_match": 1, "denied": 1, "backend_error": 3}


def test_a_limit_below_one_is_refused():
    with pytest.raises(pt.InvalidInput, match="limit: expected 1 to 1,000, got 0"):
        open_session().recall("x", limit=0)


@pytest.fixture
def team():
    store = MemoryStore()
    other = open_session(store, id="other", scope="team")
    other.append(pt.user("the deploy key is in vault"))
    other.append(developer("vault hint", visibility=pt.Visibility.INTERNAL))
    mine = open_session(store, id="mine", scope="team", seed=2)
    mine.append(pt.user("my own vault"))
    foreign = open_session(store, id="foreign", seed=3)
    foreign.append(pt.user("foreign vault"))
    return mine, other, foreign


def excerpts(recalled):
    return {hit.excerpt for hit in recalled.hits}


def test_recall_stays_in_its_session_unless_a_scope_is_asked_for(team):
    mine, _, _ = team
    assert excerpts(mine.recall("vault")) == {"my own vault"}
    assert excerpts(mine.recall("vault", scope="team")) == {"my own vault", "the deploy key is in vault"}


def test_another_scope_must_be_granted(team):
    _, _, foreign = team
    assert foreign.recall("vault", scope="team") == pt.Denied("scope 'team' is not granted")
    foreign.grant("team")
    assert len(foreign.recall("vault", scope="team").hits) == 3
    foreign.grant("team", allowed=False)
    assert foreign.recall("vault", scope="team").is_denied


def test_a_fork_does_not_hide_what_its_parent_said_later(team):
    mine, other, _ = team
    child = other.fork("child")
    other.append(pt.user("vault door code"))
    for session in (mine, child):
        assert "vault door code" in excerpts(session.recall("vault", limit=9, scope="team"))


def test_internal_text_of_another_session_is_hidden_unless_asked_for(team):
    mine, other, _ = team
    assert "vault hint" not in excerpts(mine.recall("vault", scope="team"))
    assert "vault hint" in excerpts(mine.recall("vault", scope="team", internal=True))
    assert "vault hint" in excerpts(other.recall("vault"))


def test_a_handle_resolves_to_the_original_with_provenance():
    session = open_session()
    result = take_turn(session, 1)
    resolved = session.resolve(result.handle)
    assert resolved.message == next(m for m in session.reader.messages() if m.role == pt.Role.TOOL)
    assert (resolved.text, resolved.start, resolved.end, resolved.size) == ("result 1", 0, 8, 8)
    assert (resolved.turn, resolved.role, resolved.tool) == (2, pt.Role.TOOL, "bash")
    assert (resolved.kind, resolved.digest) == (pt.PageKind.EVIDENCE, result.digest)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(0, 60), st.none() | st.integers(0, 60)
)
def test_a_range_of_bytes_is_text_or_a_fault_that_names_the_size(text, start, length):
    session = open_session()
    page = session.append(pt.user(text))
    found = session.resolve(page.handle, start=start, length=length)
    size = len(text.encode())
    if isinstance(found, pt.Resolved):
        assert found.text in text
        assert found.text or (size, start) == (0, 0)
        assert found.start >= start
        assert text.encode()[found.start : found.end] == found.text.encode()
        assert length is None or len(found.text.encode()) <= length
        if start == 0 and (length is None or length >= size):
            assert found.text == text
    else:
        assert found == pt.NoMatch(f"no text in that range, the page has {size:,} bytes")
        whole = text.encode()[start:] if length is None else text.encode()[start : start + length]
        assert whole.decode(errors="ignore") == ""
        assert session.reader.faults()[-1].entry.page == page.seq


@pytest.mark.parametrize(
    ("text", "start", "length"),
    [
        ("four", 4, None),
        ("four", 5, None),
        ("four", 10**9, None),
        pytest.param("four", 10**5000, None, id="huge"),
        ("four", 0, 0),
        ("four", 2, 0),
        ("four", 10**9, 0),
        ("four", 4, 10),
        ("", 1, None),
        ("", 0, 0),
        ("\u6f22\u5b57", 0, 2),
        ("\u6f22\u5b57", 4, None),
    ],
)
def test_a_range_without_words_is_a_fault(text, start, length):
    session = open_session()
    page = session.append(pt.user(text))
    fault = session.resolve(page, start=start, length=length)
    assert fault == pt.NoMatch(f"no text in that range, the page has {len(text.encode())} bytes")
    assert fault.code == "no_match"
    record = session.reader.faults()[-1].entry
    assert (record.fault, record.page, record.detail) == (fault, page.seq, page.handle)


@pytest.mark.parametrize("length", [None, 1, 100])
@pytest.mark.parametrize("content", ["", pt.Image(url="data:image/png;base64,AAAA", mime_type="image/png")])
def test_a_page_without_words_resolves(content, length):
    session = open_session()
    page = session.append(pt.user(content))
    found = session.resolve(page, length=length)
    assert (found.text, found.start, found.end, found.size) == ("", 0, 0, 0)
    assert session.reader.faults() == ()


@pytest.mark.parametrize(
    "handle", ["", "p1", "p1-aaaa", "p999999-aaaa", "P2-ABCD", "p2-abcd\n", "[p2-abcd]", "p02-abcd", "x" * 10_000]
)
def test_a_look_alike_of_a_handle_resolves_to_nothing(handle):
    session = open_session()
    session.append(pt.user("secret"))
    assert session.resolve(handle) == pt.NoMatch()


def test_no_other_check_opens_a_page():
    session = open_session()
    page = session.append(pt.user("secret"))
    tried = {f"p{page.seq}-{a}{b}{c}{d}" for a in "abc" for b in "def" for c in "ghi" for d in "jkl"} - {page.handle}
    assert all(session.resolve(other) == pt.NoMatch() for other in tried)


def test_handles_of_other_sessions_and_forks_do_not_resolve():
    store = MemoryStore()
    one, two = open_session(store, id="one"), open_session(store, id="two", seed=2)
    first, second = one.append(pt.user("same")), two.append(pt.user("same"))
    assert first.seq == second.seq
    assert one.resolve(second.handle) == pt.NoMatch()
    fork = one.fork("three")
    ours, theirs = one.append(pt.user("ours")), fork.append(pt.user("theirs"))
    assert ours.seq == theirs.seq
    assert fork.resolve(ours.handle) == pt.NoMatch()
    assert fork.resolve(first.handle).text == "same"


@given(st.binary(min_size=16, max_size=16), st.integers(1, 10**12), st.text("0123456789abcdef", min_size=4, max_size=8))
def test_a_handle_is_read_as_it_was_written(key, seq, digest):
    check = check_of(key, seq, digest)
    assert parse(handle(seq, check)) == (seq, check)
    assert check == check_of(key, seq, digest)
