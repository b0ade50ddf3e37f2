"""A small log of every tool, and exactly what an import makes of it."""

from typing import NamedTuple

import msgspec
import pytest

import pageturn as pt
from pageturn.stores import MemoryStore, SqliteStore
from pageturn.values.messages import File, Text, Thinking
from pageturn.values.usage import Usage
from tests.apps.importing.taking import SAMPLES, all_roles, heads, ids, journal, messages, take, usages, words

BEES = "bee00000-0000-4000-8000-000000000001"
CLOCK = "c10c0000-0000-7000-8000-000000000002"
TIDES = "9e300000-0000-4000-8000-000000000003"
FERRY = "9e300000-0000-4000-8000-000000000004"


class Expected(NamedTuple):
    tools: dict
    sessions: set
    roles: dict
    calls: int
    results: int
    skipped: dict
    compactions: int = 0


EXPECTED = {
    "claude_code.jsonl": Expected(
        {"claude-code": 1},
        {BEES, f"{BEES}.a1b2c3", f"{BEES}.d4e5f6"},
        {"user": 6, "assistant": 4, "tool": 4, "synthetic": 2},
        calls=5,
        results=4,
        skipped={
            "file-history-snapshot": 2,
            "repeated line": 1,
            "broken line": 1,
            "system/turn_duration": 1,
            "written by the tool itself": 1,
        },
        compactions=1,
    ),
    "codex.jsonl": Expected(
        {"codex": 1},
        {CLOCK},
        {"system": 1, "developer": 1, "user": 5, "assistant": 4, "tool": 2, "synthetic": 3},
        calls=2,
        results=2,
        skipped={
            "turn_context": 1,
            "event_msg/user_message": 1,
            "event_msg/agent_message": 1,
            "event_msg/token_count": 5,
            "response_item/ghost_snapshot": 1,
            "encrypted summary, readable only by its vendor": 1,
        },
        compactions=2,
    ),
    "gemini_cli.json": Expected(
        {"gemini-cli": 1},
        {TIDES},
        {"user": 1, "assistant": 2, "tool": 3},
        calls=4,
        results=3,
        skipped={"info": 1, "empty answer": 1},
    ),
    "gemini_cli.jsonl": Expected(
        {"gemini-cli": 1},
        {FERRY},
        {"user": 1, "assistant": 2, "tool": 1},
        calls=1,
        results=1,
        skipped={"update of the header": 1, "broken line": 1},
    ),
    "opencode.json": Expected(
        {"opencode": 1},
        {"ses_cake"},
        {"user": 2, "assistant": 3, "tool": 2, "synthetic": 1},
        calls=3,
        results=2,
        skipped={"step-start": 1, "step-finish": 1, "patch": 1, "compaction": 1, "empty message": 2},
        compactions=1,
    ),
    "opencode_tree": Expected(
        {"opencode": 7},
        {"ses_tree"},
        {"user": 2, "assistant": 1, "tool": 1},
        calls=1,
        results=1,
        skipped={"read with its session": 6},
    ),
    "pi.jsonl": Expected(
        {"pi": 1},
        {"kite-v1"},
        {"user": 4, "assistant": 2, "tool": 2, "synthetic": 1},
        calls=2,
        results=2,
        skipped={"thinking_level_change": 1, "empty message": 1},
        compactions=1,
    ),
    "pi_v3.jsonl": Expected(
        {"pi": 1},
        {"kite-v3"},
        {"user": 4, "assistant": 2, "tool": 2, "synthetic": 1},
        calls=2,
        results=2,
        skipped={"thinking_level_change": 1, "empty message": 1, "custom_message": 1},
        compactions=1,
    ),
    "anthropic_request.json": Expected(
        {"requests": 1},
        {"anthropic_request.1"},
        {"system": 1, "user": 2, "assistant": 2, "tool": 2},
        calls=2,
        results=2,
        skipped={},
    ),
    "chat_requests.jsonl": Expected(
        {"requests": 1},
        {"chat_requests.1", "chat_requests.2"},
        {"system": 2, "user": 3, "assistant": 2, "tool": 1},
        calls=1,
        results=1,
        skipped={"repeated by the next request": 2, "no messages": 1, "message not understood": 1},
    ),
    "swe_agent.traj": Expected(
        {"swe-agent": 1},
        {"swe_agent"},
        {"system": 1, "user": 2, "assistant": 3, "tool": 2, "synthetic": 1},
        calls=2,
        results=2,
        skipped={},
    ),
    "openhands.jsonl": Expected(
        {"openhands": 1},
        {"mill__wheel-7", "mill__stone-8"},
        {"system": 1, "user": 3, "assistant": 2, "tool": 2, "synthetic": 1},
        calls=3,
        results=2,
        skipped={"recall": 1, "run": 1, "event not understood": 1, "not a task": 1},
    ),
}
WITH_SUMMARY = [name for name, expected in EXPECTED.items() if expected.compactions]
each_sample = pytest.mark.parametrize("name", EXPECTED)


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "imported.db")
    yield opened
    opened.close()


def test_every_sample_is_pinned():
    assert {path.name for path in SAMPLES.iterdir()} == set(EXPECTED)


@each_sample
def test_what_is_taken_and_what_is_left_out(store, name):
    report, expected = take(store, SAMPLES / name), EXPECTED[name]
    assert report.failed == {}
    assert report.tools == expected.tools
    assert report.sessions == expected.sessions == set(heads(store))
    assert report.skipped == expected.skipped
    assert set(report.examples) == set(expected.skipped)
    assert all_roles(store) == expected.roles
    assert report.messages == all_roles(store).total() - all_roles(store)["synthetic"]
    assert (report.calls, report.results, report.compactions) == expected[3:5] + expected[6:]
    assert report.known == 0


@each_sample
def test_a_second_import_takes_nothing(store, name):
    first = take(store, SAMPLES / name)
    there = {session: ids(store, session) for session in heads(store)}
    again = take(store, SAMPLES / name)
    assert (again.messages, again.calls, again.results) == (0, 0, 0)
    assert again.known == first.messages
    assert again.skipped == first.skipped
    assert {session: ids(store, session) for session in heads(store)} == there


@pytest.mark.parametrize("name", EXPECTED)
def test_a_second_import_writes_no_entry(store, name):
    take(store, SAMPLES / name)
    before = heads(store)
    take(store, SAMPLES / name)
    assert heads(store) == before


@each_sample
def test_every_message_says_where_it_comes_from(store, name):
    take(store, SAMPLES / name)
    said = [message for session in heads(store) for message in messages(store, session)]
    sources = [message.metadata["source"] for message in said]
    assert {source["tool"] for source in sources} == set(EXPECTED[name].tools)
    assert all(source["file"].startswith(str(SAMPLES / name)) for source in sources)
    assert all(source["line"] >= 1 for source in sources)


def test_claude_code_puts_a_response_together_and_its_results_behind_it(store):
    take(store, SAMPLES / "claude_code.jsonl")
    assert ids(store, BEES) == ["u-0", "u-1", "msg_1", "u-2", "u-3", "q-1", "msg_2", "u-4", "u-5", "msg_3"]
    said = messages(store, BEES)
    answer = said[2]
    assert [type(part) for part in answer.content] == [Thinking, Text, pt.ToolCall, pt.ToolCall]
    assert [call.id for call in answer.tool_calls] == ["call_hives", "call_notes"]
    assert [result.is_error for message in said for result in message.tool_results] == [False, True, False]
    assert [index for index, message in enumerate(said) if message.synthetic] == [0, 8]
    assert said[5].text == "And count the frames, please."
    assert not said[5].synthetic


def test_claude_code_counts_a_response_once_with_its_last_usage(store):
    take(store, SAMPLES / "claude_code.jsonl")
    taken = [(usage.input_tokens, usage.output_tokens) for usage in usages(store, BEES)]
    assert taken == [(100 + 20 + 300, 57), (150 + 20 + 300, 31), (60 + 20 + 300, 19)]
    assert journal(store, BEES).state.usage == Usage(
        input_tokens=380,
        output_tokens=19,
        cache_read_tokens=300,
        cache_write_tokens=20,
        model="claude-test-1",
        extra={"anthropic": {"service_tier": "standard"}},
    )


def test_claude_code_keeps_where_a_response_began(store):
    take(store, SAMPLES / "claude_code.jsonl")
    source = messages(store, BEES)[2].metadata["source"]
    assert source == {
        "tool": "claude-code",
        "file": str(SAMPLES / "claude_code.jsonl"),
        "line": 4,
        "id": "msg_1",
        "at": "2026-03-01T10:00:03.000Z",
    }


def test_claude_code_has_sub_agents_as_sessions_of_their_own(store):
    take(store, SAMPLES / "claude_code.jsonl")
    assert ids(store, f"{BEES}.a1b2c3") == ["sub-1", "msg_sub", "sub-3"]
    assert words(store, f"{BEES}.a1b2c3") == ["Count the frames.", "", "30"]
    assert [usage.model for usage in usages(store, f"{BEES}.a1b2c3")] == ["claude-test-0"]
    assert words(store, f"{BEES}.d4e5f6") == ["Warm up."]


@pytest.mark.parametrize(
    ("name", "session", "covered", "begins", "source"),
    [
        (
            "claude_code.jsonl",
            BEES,
            ["u-0", "u-1", "msg_1", "u-2", "u-3", "q-1", "msg_2", "u-4"],
            "This session is being continued",
            {"line": 21, "trigger": "auto", "before_tokens": 155_000},
        ),
        (
            "codex.jsonl",
            CLOCK,
            ["#2", "#3", "#4", "#5", "#6", "#7"],
            "Handover: ",
            {"line": 19, "before_tokens": 1_500},
        ),
        (
            "opencode.json",
            "ses_cake",
            ["msg_1", "msg_2", "msg_2/call_read", "msg_2/call_oven"],
            "## Goal\nBake a cake",
            {"line": 5},
        ),
        (
            "pi.jsonl",
            "kite-v1",
            ["1", "2", "3", "5"],
            "# Context Checkpoint: the kite",
            {"line": 9, "before_tokens": 175_000},
        ),
        (
            "pi_v3.jsonl",
            "kite-v3",
            ["e1", "e2", "e3", "e5"],
            "# Context Checkpoint: the kite",
            {"line": 9, "before_tokens": 175_000},
        ),
    ],
)
def test_a_readable_summary_is_a_rendition_of_what_it_stood_for(store, name, session, covered, begins, source):
    take(store, SAMPLES / name)
    opened = journal(store, session)
    (rendition,) = opened.state.renditions
    pages = [page for page in opened.state.pages if rendition.first <= page.seq <= rendition.last]
    assert [page.id for page in pages] == covered
    summary = store.blob(rendition.digest).decode()
    assert summary.startswith(begins)
    assert [message.text for message in messages(store, session)].count(summary) == 1  # it was said, too
    assert all(opened.message(page).content for page in pages)  # and the history stays
    (staged,) = (entry for _, entry in opened.entries() if type(entry).__name__ == "Staged")
    told = staged.proposal.extra["source"]
    assert told == {"tool": told["tool"], "file": str(SAMPLES / name), **source}


def test_codex_reads_a_response_up_to_what_somebody_else_wrote(store):
    take(store, SAMPLES / "codex.jsonl")
    assert ids(store, CLOCK) == ["instructions", *(f"#{number}" for number in range(1, 13))]
    said = messages(store, CLOCK)
    assert said[0].text == "You are a careful coding agent."
    assert [type(part) for part in said[4].content] == [Thinking, Text, pt.ToolCall, pt.ToolCall]
    assert said[4].content[0].redacted == "Z0FBQUFB"
    assert [call.name for call in said[4].tool_calls] == ["shell", "apply_patch"]
    assert [message.tool_results[0].tool_call_id for message in said[5:7]] == ["call_cat", "call_patch"]
    assert [index for index, message in enumerate(said) if message.synthetic] == [2, 8, 11]
    assert said[4].metadata["source"] == {
        "tool": "codex",
        "file": str(SAMPLES / "codex.jsonl"),
        "line": 8,
        "at": "2026-03-02T09:00:06.000Z",
    }


def test_codex_keeps_what_is_not_understood_as_it_came(store):
    take(store, SAMPLES / "codex.jsonl")
    said = messages(store, CLOCK)
    assert said[10].content[0].item == {"type": "telegram", "words": "stop"}
    assert said[11].content[0].item == {"type": "message", "role": "user", "content": 7}


def test_codex_gives_each_response_its_own_usage(store):
    take(store, SAMPLES / "codex.jsonl")
    counted = [usage and (usage.input_tokens, usage.cache_read_tokens, usage.model) for usage in usages(store, CLOCK)]
    assert counted == [(1_000, 600, "gpt-test-codex"), (1_500, 1_000, "gpt-test-codex"), None, None]
    assert journal(store, CLOCK).state.usage.input_tokens == 1_500


def test_gemini_has_a_call_and_its_result_apart(store):
    take(store, SAMPLES / "gemini_cli.json", SAMPLES / "gemini_cli.jsonl")
    assert ids(store, TIDES) == ["g1", "g2", "g2/run-1", "g2/run-2", "g2/run-3", "g5"]
    results = [result for message in messages(store, TIDES) for result in message.tool_results]
    assert [(result.tool_call_id, result.content, result.is_error) for result in results] == [
        ("run-1", "Exit Code: 0\n06:10 4.2 m", False),
        ("run-2", "no such file", True),
        ("run-3", "[Operation Cancelled]", True),
    ]
    first, last = usages(store, TIDES)
    assert first == Usage(input_tokens=500, output_tokens=65, cache_read_tokens=300, model="gemini-test")
    assert (last.input_tokens, last.output_tokens) == (700, 12)
    assert messages(store, TIDES)[1].content[0] == Thinking(text="Reading\nTwo commands.")
    assert ids(store, FERRY) == ["h1", "h2", "h2/ask-1", "h3"]
    assert words(store, FERRY) == ["Is the ferry late?", "I ask the harbour.", "Ten minutes.", "Ten minutes late."]


def test_opencode_has_a_call_and_its_result_apart(store):
    take(store, SAMPLES / "opencode.json")
    asked, answer, read, oven, *_ = messages(store, "ses_cake")
    assert [type(part) for part in asked.content] == [Text, pt.Image, File]
    assert [call.id for call in answer.tool_calls] == ["call_read", "call_oven", "call_wait"]
    assert read.tool_results[0].content.startswith("<path>cake.md</path>")
    assert (oven.tool_results[0].content, oven.tool_results[0].is_error) == ("oven: not found", True)
    first, *_, last = usages(store, "ses_cake")
    assert first == Usage(
        input_tokens=550, output_tokens=25, cache_read_tokens=400, cache_write_tokens=50, model="test-model"
    )
    assert (last.input_tokens, last.output_tokens) == (90, 8)
    assert answer.metadata["source"]["at"] == "1772600000002"


def test_opencode_reads_a_tree_of_files_in_the_order_of_time(store):
    take(store, SAMPLES / "opencode_tree")
    assert ids(store, "ses_tree") == ["msg_b", "msg_a", "msg_a/call_rings", "msg_c"]
    assert words(store, "ses_tree") == ["How old is the oak?", "I count the rings.", "211", "Thanks, that is all."]
    assert {message.metadata["source"]["file"] for message in messages(store, "ses_tree")} == {
        str(SAMPLES / "opencode_tree/storage/session/proj/ses_tree.json")
    }


@pytest.mark.parametrize("name", ["pi.jsonl", "pi_v3.jsonl"])
def test_pi_has_one_message_a_line(store, name):
    (session,) = take(store, SAMPLES / name).sessions
    said = messages(store, session)
    assert [str(message.role) for message in said] == "user assistant tool user user user assistant tool".split()
    assert said[3].text == "$ ls box\nline-1\nline-2\nline-3"
    assert said[1].content[0].signature == "sig"
    assert said[7].tool_results[0].parts == (Text(text="It tore."),)
    assert [result.is_error for message in said for result in message.tool_results] == [False, True]
    assert [(usage.input_tokens, usage.output_tokens) for usage in usages(store, session)] == [(350, 20), (75, 6)]
    assert said[0].metadata["source"]["at"] == "2026-03-05T07:00:01.000Z"


def test_an_anthropic_request_is_a_session(store):
    take(store, SAMPLES / "anthropic_request.json")
    assert ids(store, "anthropic_request.1") == ["system", "0", "1", "2", "2/1", "2/2", "3"]
    said = messages(store, "anthropic_request.1")
    assert words(store, "anthropic_request.1") == [
        "You know about stars.",
        "Where is Vega tonight?",
        "One moment.",
        "high in the west",
        "clouded",
        "And Altair?",
        "High in the west.",
    ]
    assert [message.joined for message in said] == [False, False, False, False, True, True, False]
    assert [result.is_error for message in said for result in message.tool_results] == [False, True]


def test_a_log_of_requests_takes_what_is_new_in_each(store):
    take(store, SAMPLES / "chat_requests.jsonl")
    assert words(store, "chat_requests.1") == [
        "You plan journeys.",
        "A train to Trieste?",
        "",
        "07:12",
        "At 07:12.",
        "And back?",
    ]
    lines = [message.metadata["source"]["line"] for message in messages(store, "chat_requests.1")]
    assert lines == [1, 1, 2, 2, 3, 3]
    assert words(store, "chat_requests.2") == ["You plan journeys.", "A ship to Bari?"]


def test_swe_agent_has_the_history_and_not_its_repetition(store):
    take(store, SAMPLES / "swe_agent.traj")
    said = messages(store, "swe_agent")
    assert [str(message.role) for message in said] == (
        "system user assistant user assistant tool assistant tool".split()
    )
    assert [index for index, message in enumerate(said) if message.synthetic] == [3]
    assert [call.name for message in said for call in message.tool_calls] == ["bash", "submit"]
    assert [message.tool_results[0].content for message in said if message.tool_results] == ["ok", "done"]


def test_openhands_has_one_answer_for_the_calls_of_one_response(store):
    take(store, SAMPLES / "openhands.jsonl")
    wheel = messages(store, "mill__wheel-7")
    assert ids(store, "mill__wheel-7") == ["0", "1", "4", "5", "7", "8", "9"]
    assert [[call.id for call in message.tool_calls] for message in wheel if message.tool_calls] == [
        ["call_a", "call_b"],
        ["call_c"],
    ]
    results = [result for message in wheel for result in message.tool_results]
    assert [(result.content, result.is_error) for result in results] == [
        ("wheel.c", False),
        ("make: *** Error 1", True),
    ]
    assert [usage.input_tokens for usage in usages(store, "mill__wheel-7")] == [50, 90]
    assert wheel[5].synthetic
    assert words(store, "mill__stone-8") == ["Turn the stone."]


def test_what_is_imported_can_be_found_again(store):
    take(store, SAMPLES / "claude_code.jsonl")
    session = pt.Session.open(store, id=BEES)
    found = session.recall("willow combs pond")
    handles = {page.id: page.handle for page in session.reader.pages()}
    assert handles["u-2"] in [hit.handle for hit in found.hits]


def test_every_message_can_be_written_and_read(store):
    take(store, *(SAMPLES / name for name in EXPECTED))
    for session in heads(store):
        for message in messages(store, session):
            assert pt.from_json(pt.Message, pt.to_json(message)) == message
            msgspec.json.encode(pt.formats.anthropic.dump([message]))
