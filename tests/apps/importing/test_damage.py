"""Files that are broken, or not what they seem."""

import json

import pytest

from pageturn.formats.transcripts import source
from tests.apps.importing.taking import SAMPLES, chat, heads, journal, messages, said, take, words, write_lines

NOT_KNOWN = "not a recorded session of a known tool"


# -- files that are damaged


def test_a_damaged_middle_costs_only_itself(store, tmp_path):
    lines = [said(1, "one"), '{"type": "user", "uuid": "u', "\x00\x00\x00", "[1, 2]", '"text"', "", said(2, "two")]
    report = take(store, write_lines(tmp_path / "log.jsonl", lines))
    assert report.skipped == {"broken line": 2, "not an object": 2}
    assert report.examples == {
        "broken line": f"{tmp_path / 'log.jsonl'}:2",
        "not an object": f"{tmp_path / 'log.jsonl'}:4",
    }
    assert words(store, "s") == ["one", "two"]


def test_what_is_glued_together_is_taken_apart_up_to_where_it_breaks(store, tmp_path):
    glued = f"{json.dumps(said(2, 'two'))}{json.dumps(said(3, 'three'))} {{"
    report = take(store, write_lines(tmp_path / "log.jsonl", [said(1, "one"), glued, said(4, "four")]))
    assert words(store, "s") == ["one", "two", "three", "four"]
    assert report.skipped == {"broken line": 1}
    assert messages(store, "s")[2].metadata["source"]["line"] == 2


@pytest.mark.parametrize(
    "damaged",
    [
        json.dumps(said(2, "caf\xe9"), ensure_ascii=False).encode("latin-1"),
        json.dumps(said(2, "two")).encode("utf-16"),
        b"[" * 100_000,
        json.dumps({**said(2, "two"), "weight": float("nan")}).encode(),
    ],
    ids=["latin-1", "utf-16", "too deep", "not a number"],
)
def test_a_line_that_is_no_text_costs_only_itself(store, tmp_path, damaged):
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b"\n".join(json.dumps(said(number, str(number))).encode() for number in (1, 3, 4)) + b"\n" + damaged
    )
    report = take(store, path)
    assert words(store, "s") == ["1", "3", "4"]
    assert report.skipped == {"broken line": 1}
    assert report.examples == {"broken line": f"{path}:4"}


def test_a_file_in_utf_16_is_refused(store, tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps(said(1, "x")) + "\n", encoding="utf-16")
    report = take(store, tmp_path / "log.jsonl")
    assert report.failed == {tmp_path / "log.jsonl": NOT_KNOWN}
    assert heads(store) == {}


def test_half_of_a_surrogate_pair_becomes_a_question_mark(store, tmp_path):
    take(store, write_lines(tmp_path / "log.jsonl", [said(1, "half \ud83d of a face")]))
    assert words(store, "s") == ["half ? of a face"]


def test_a_byte_order_mark_does_no_harm(store, tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps(said(1, "x")) + "\n", encoding="utf-8-sig")
    assert take(store, tmp_path / "log.jsonl").messages == 1


def test_a_broken_first_line_costs_only_itself(store, tmp_path):
    report = take(store, write_lines(tmp_path / "log.jsonl", ['{"type": "us', said(2, "two")]))
    assert (report.messages, report.skipped) == (1, {"broken line": 1})


def test_half_a_character_does_not_cost_a_whole_session(store, tmp_path):
    sample = (SAMPLES / "gemini_cli.json").read_text(encoding="utf-8")
    (tmp_path / "chat.json").write_text(sample.replace("[Operation Cancelled]", "cut \\ud83d"), encoding="utf-8")
    assert take(store, tmp_path / "chat.json").failed == {}


def test_a_line_that_is_too_long_is_passed_over_in_bounded_memory(store, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 4_096)
    lines = [said(1, "one"), said(2, "x" * 50_000), said(3, "three"), said(4, "y" * 4_096)]
    path, told = write_lines(tmp_path / "log.jsonl", lines), []
    report = take(store, path, on_read=told.append)
    assert words(store, "s") == ["one", "three"]
    assert report.skipped.total() == 2
    assert all(reason.startswith("line longer than") for reason in report.skipped)
    assert list(report.examples.values()) == [f"{path}:2"]
    assert max(told) <= 4_096
    assert sum(told) == path.stat().st_size


def test_a_line_as_long_as_may_be_is_taken(store, tmp_path, monkeypatch):
    line = said(1, "x" * 1_000)
    monkeypatch.setattr(source, "LONGEST_LINE", len(json.dumps(line)) + 1)
    assert take(store, write_lines(tmp_path / "log.jsonl", [line, said(2, "two")])).messages == 2


def test_a_message_that_cannot_be_kept_costs_only_itself(store, tmp_path):
    deep = "[" * 150 + "]" * 150
    nested = f'{{"type":"user","uuid":"u2","sessionId":"s","message":{{"role":"user","content":"b","weight":{deep}}}}}'
    path = write_lines(tmp_path / "log.jsonl", [said(1, "a"), nested, said(3, "c")])
    report = take(store, path)
    assert words(store, "s") == ["a", "c"]
    assert report.messages == 2
    assert report.skipped == {"message that cannot be stored": 1}
    assert report.examples["message that cannot be stored"].startswith(f"{path}:2 (")
    assert "at most 100 levels" in report.examples["message that cannot be stored"]


# -- shapes that no reader expects


def record(payload):
    return {"type": "response_item", "payload": payload}


STRANGE = {
    "a list as id": [said(1, "x"), said(2, "y", uuid=["u2"])],
    "a list as message": [said(1, "x"), said(2, "y", type="assistant", message=[])],
    "a summary without words": [said(1, "x"), said(2, [], isCompactSummary=True)],
    "a text as compaction data": [
        said(1, "x"),
        {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "compactMetadata": "auto"},
        said(2, "y", isCompactSummary=True),
    ],
    "a number as answer": [
        {"type": "session_meta", "payload": {"id": "s"}},
        record({"type": "message", "role": "user", "content": "x"}),
        record({"type": "message", "role": "assistant", "content": 5}),
    ],
    "a number as content": [
        {"type": "session", "id": "s", "timestamp": "t"},
        {"type": "message", "message": {"role": "user", "content": "x"}},
        {"type": "message", "message": {"role": "user", "content": 5}},
    ],
    "a number as calls": [
        {"sessionId": "s", "projectHash": "h"},
        {"type": "user", "id": "1", "content": "x"},
        {"type": "gemini", "id": "2", "content": "y", "toolCalls": 5},
    ],
    "an unknown role": [
        {
            "info": {"id": "s"},
            "messages": [
                {"info": {"id": "1", "role": "user"}, "parts": [{"type": "text", "text": "x"}]},
                {"info": {"id": "2", "role": "bard"}, "parts": [{"type": "text", "text": "y"}]},
            ],
        }
    ],
    "a list as step": [{"trajectory": [], "history": [{"role": "user", "content": "x"}, chat("y")]}],
}


@pytest.mark.parametrize("lines", STRANGE.values(), ids=STRANGE)
def test_what_is_not_understood_costs_only_itself(store, tmp_path, lines):
    report = take(store, write_lines(tmp_path / "s.json", lines))
    assert report.failed == {}
    (session,) = heads(store)
    assert words(store, session)[0] == "x"


def test_nothing_is_left_out_without_a_reason(store, tmp_path):
    report = take(store, write_lines(tmp_path / "log.jsonl", [said(1, "x"), said(2, [])]))
    assert report.messages + report.skipped.total() == 2


@pytest.mark.parametrize(
    "kind",
    [
        "permission-mode",
        "queue-operation",
        *("mode", "custom-title", "ai-title", "agent-name", "last-prompt", "pr-link"),
    ],
)
def test_a_log_of_claude_code_may_begin_with_any_kind_of_line(store, tmp_path, kind):
    report = take(store, write_lines(tmp_path / "log.jsonl", [{"type": kind, "sessionId": "s"}, said(1, "x")]))
    assert report.messages == 1


def test_a_repeated_line_of_a_sub_agent_is_taken_once(store, tmp_path):
    told = {"type": "user", "uuid": "x1", "message": {"role": "user", "content": "count"}}
    progress = {
        "type": "progress",
        "uuid": "p1",
        "sessionId": "s",
        "data": {"type": "agent_progress", "agentId": "a", "message": told},
    }
    take(store, write_lines(tmp_path / "log.jsonl", [said(1, "x"), progress, progress]))
    assert words(store, "s.a") == ["count"]


def test_a_summary_of_pi_ends_before_what_was_kept_even_where_that_begins_with_a_setting(store, tmp_path):
    lines = [json.loads(line) for line in (SAMPLES / "pi_v3.jsonl").read_text(encoding="utf-8").splitlines()]
    setting = {"type": "model_change", "id": "e6b", "timestamp": "t", "provider": "p", "modelId": "m"}
    lines[7:7] = [setting]
    lines[9]["firstKeptEntryId"] = "e6b"
    take(store, write_lines(tmp_path / "pi.jsonl", lines))
    opened = journal(store, "kite-v3")
    (rendition,) = opened.state.renditions
    covered = [page.id for page in opened.state.pages if rendition.first <= page.seq <= rendition.last]
    assert covered == ["e1", "e2", "e3", "e5"]


def test_a_summary_does_not_cover_the_opening_prompt(store, tmp_path):
    lines = [json.loads(line) for line in (SAMPLES / "pi_v3.jsonl").read_text(encoding="utf-8").splitlines()]
    rule = {"type": "message", "id": "rule", "message": {"role": "system", "content": "Never cut the line."}}
    take(store, write_lines(tmp_path / "pi.jsonl", [lines[0], rule, *lines[1:]]))
    opened = journal(store, "kite-v3")
    (rendition,) = opened.state.renditions
    covered = [page.id for page in opened.state.pages if rendition.first <= page.seq <= rendition.last]
    assert opened.state.pages[0].id == "rule"
    assert "rule" not in covered
    assert {"e2", "e3", "e5"} <= set(covered)


@pytest.mark.parametrize("mark", ["isMeta", "isCompactSummary"])
def test_what_claude_code_says_it_wrote_itself_is_synthetic(store, tmp_path, mark):
    lines = [said(1, "mine"), said(2, "its own", **{mark: True}), said(3, "mine, too", **{mark: False})]
    take(store, write_lines(tmp_path / "log.jsonl", lines))
    assert [message.synthetic for message in messages(store, "s")] == [False, True, False]
