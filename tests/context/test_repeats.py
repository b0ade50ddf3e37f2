"""What had to be fetched again, at whatever level below full it stood."""

import pytest

import pageturn as pt
from tests.sessions import open_session, store_of

FULL, COMPRESSED, STRUCTURED, POINTER = pt.ResidencyLevel
TEXT = "\n".join(f"def setting_{n}(request):\n    return value_{n} + {n} * request.size" for n in range(120))


@pt.register_policy("old_results_at")
class OldResultsAt(pt.DerivePolicy):
    """Everything whole but for evidence that was seen, which stands at one level."""

    level: str

    def is_full(self, growth, budget_tokens):
        return growth.turns >= 3

    def plan(self, frame, least, tokens):
        at = pt.ResidencyLevel(self.level)
        return {
            unit.first: at if unit.last > unit.first and at in unit.sizes and unit.first not in least else FULL
            for unit in frame.candidates
            if unit.sizes
        }


def read(session, name, path, text):
    session.derive()
    call = pt.ToolCall(id=name, name="read", arguments=f'{{"path": "{path}"}}')
    session.append(pt.assistant(f"reading {path}", call))
    return session.append(pt.tool_result(call, text))


def sunken(level, **options):
    """A session whose first result stands at this level, and that result."""
    session = open_session(policy=OldResultsAt(level.value), **options)
    session.append(pt.user("Fix it."))
    first = read(session, "a", "src/settings.py", TEXT)
    for number in range(4):
        read(session, f"n{number}", f"docs/{number}.md", f"short {number}")
    assert session.reader.level(first) is level
    return session, first


def faults(session):
    return [(record.entry.fault.code, record.entry.page) for record in session.reader.faults()]


LEVELS = pytest.mark.parametrize("level", [COMPRESSED, STRUCTURED, POINTER], ids=str)


@LEVELS
def test_the_same_call_again_is_a_duplicate_tool_at_every_level_below_full(level):
    session, first = sunken(level)
    read(session, "b", "src/settings.py", TEXT)
    assert faults(session) == [("duplicate_tool", first.seq)]


@LEVELS
def test_another_way_to_the_same_bytes_is_a_refetch_at_every_level_below_full(level):
    session, first = sunken(level)
    read(session, "b", "./src/settings.py", TEXT)
    assert faults(session) == [("refetch", first.seq)]


def test_what_stood_whole_is_no_fault():
    session, _ = sunken(FULL)
    read(session, "b", "src/settings.py", TEXT)
    read(session, "c", "./src/settings.py", TEXT)
    assert faults(session) == []


def ask(session, handle, **more):
    session.derive()
    call = pt.ToolCall(
        id=f"ask{len(session.reader.pages())}", name="recall", arguments=pt.to_json({"handle": handle, **more}).decode()
    )
    session.append(pt.assistant("What was that?", call))
    assert session.answer()


@LEVELS
def test_a_recall_is_a_refetch_at_every_level_below_full(level):
    session, first = sunken(level)
    ask(session, first.handle)
    assert faults(session) == [("refetch", first.seq)]


@LEVELS
def test_a_recall_of_a_range_is_a_refetch_of_every_page_that_it_gave_and_of_no_other(level):
    session, first = sunken(level, recall=pt.RecallTool(most_bytes=30_000))
    call = session.reader.state().caller(first)
    ask(session, f"{call.handle}..{first.handle}")
    assert faults(session) == [("refetch", call.seq), ("refetch", first.seq)]


def test_a_list_of_pages_is_no_refetch():
    session, _ = sunken(POINTER, recall=pt.RecallTool(most_bytes=400))
    pages = session.reader.pages()
    ask(session, f"{pages[0].handle}..{pages[-1].handle}")  # too much: their beginnings
    assert faults(session) == []


def test_a_page_of_a_range_that_the_store_could_not_give_was_not_fetched(monkeypatch):
    session, first = sunken(POINTER, recall=pt.RecallTool(most_bytes=30_000))
    call = session.reader.state().caller(first)
    store = store_of(session)
    whole = store.blob
    monkeypatch.setattr(store, "blob", lambda digest: b"torn" if digest == first.digest else whole(digest))
    ask(session, f"{call.handle}..{first.handle}")
    assert [fault for fault in faults(session) if fault[0] == "refetch"] == [("refetch", call.seq)]
