"""Files that grow, repeat themselves, or claim what others claim."""

import gzip
import json

import pytest

import pageturn as pt
from pageturn.formats import anthropic
from pageturn.formats.transcripts import source as transcripts
from pageturn.stores import MemoryStore
from pageturn.values.ids import require_session_id
from pageturn.values.messages import Text, Thinking
from tests.apps.importing.taking import (
    SAMPLES,
    all_roles,
    answered,
    call,
    chat,
    heads,
    ids,
    journal,
    messages,
    result,
    said,
    take,
    text,
    words,
    write_lines,
)

NOT_KNOWN = "not a recorded session of a known tool"


# -- files that grow


LOGS = sorted(path.name for path in SAMPLES.glob("*.jsonl"))


@pytest.mark.parametrize("name", LOGS)
def test_a_file_that_grows_is_completed_wherever_it_was_cut(tmp_path, name):
    lines = (SAMPLES / name).read_text(encoding="utf-8").splitlines()
    whole = MemoryStore()
    take(whole, SAMPLES / name)
    for count in range(1, len(lines)):
        store = MemoryStore()
        take(store, write_lines(tmp_path / name, lines[:count]))
        take(store, write_lines(tmp_path / name, lines))
        assert all_parts(store) == all_parts(whole), f"cut after line {count}"
        assert take(store, tmp_path / name).messages == 0


@pytest.mark.parametrize("name", LOGS)
def test_a_file_that_is_followed_line_by_line_comes_to_the_same(store, tmp_path, name):
    lines = (SAMPLES / name).read_text(encoding="utf-8").splitlines()
    whole = MemoryStore()
    take(whole, SAMPLES / name)
    for count in range(1, len(lines) + 1):
        take(store, write_lines(tmp_path / name, lines[:count]))
    assert all_parts(store) == all_parts(whole)


def all_parts(store):
    """Everything that was said, wherever it stands."""
    parts = [
        (row.id, str(message.role), pt.to_json(part).decode())
        for row in store.sessions()
        for message in messages(store, row.id)
        for part in message.content
    ]
    return sorted(parts)


def test_only_the_rest_of_a_response_is_added_and_joined(store, tmp_path):
    lines = [said(1, "go"), answered(1, "m1", text("I begin.")), answered(2, "m1", call("c1")), result(2, "c1")]
    take(store, write_lines(tmp_path / "log.jsonl", lines[:2]))
    report = take(store, write_lines(tmp_path / "log.jsonl", lines))
    assert (report.messages, report.known, report.calls, report.results) == (2, 1, 1, 1)
    assert ids(store, "s") == ["u1", "m1", "m1+1", "u2"]
    begun, rest = messages(store, "s")[1:3]
    assert [type(part) for part in begun.content] == [Text]
    assert [type(part) for part in rest.content] == [pt.ToolCall]
    assert (begun.joined, rest.joined) == (False, True)
    assert take(store, tmp_path / "log.jsonl").messages == 0


def test_a_response_that_is_seen_three_times_while_it_grows_is_complete(store, tmp_path):
    lines = [said(1, "go"), *(answered(number, "m1", text(f"part {number}")) for number in (1, 2, 3))]
    for count in (2, 3, 4):
        take(store, write_lines(tmp_path / "log.jsonl", lines[:count]))
    assert words(store, "s") == ["go", "part 1", "part 2", "part 3"]


def test_parallel_calls_are_completed_behind_the_results_that_were_there(store, tmp_path):
    lines = [said(1, "go"), answered(1, "m1", call("c1")), result(2, "c1"), answered(2, "m1", call("c2"))]
    take(store, write_lines(tmp_path / "log.jsonl", lines[:3]))
    take(store, write_lines(tmp_path / "log.jsonl", [*lines, result(3, "c2")]))
    assert ids(store, "s") == ["u1", "m1", "u2", "m1+1", "u3"]


def test_a_response_of_codex_is_completed(store, tmp_path):
    lines = (SAMPLES / "codex.jsonl").read_text(encoding="utf-8").splitlines()
    (session,) = take(store, write_lines(tmp_path / "codex.jsonl", lines[:10])).sessions  # reasoning and text
    assert [type(part) for part in messages(store, session)[-1].content] == [Thinking, Text]
    take(store, write_lines(tmp_path / "codex.jsonl", lines))
    assert ids(store, session)[4:7] == ["#4", "#4+2", "#5"]
    assert [each.name for each in messages(store, session)[5].tool_calls] == ["shell", "apply_patch"]


# -- imports that are interrupted


class Stop(Exception):
    """What ends an import in the middle."""


@pytest.mark.parametrize("at", [1, 150, 450, 999])
def test_an_interrupted_import_is_resumed(store, tmp_path, at):
    path = write_lines(tmp_path / "log.jsonl", [said(number, f"text {number}") for number in range(1_000)])
    left = at

    def stop(_count):
        nonlocal left
        left -= 1
        if left < 0:
            raise Stop

    with pytest.raises(Stop):
        take(store, path, on_read=stop)
    there = len(ids(store, "s")) if heads(store) else 0
    assert there < 1_000
    report = take(store, path)
    assert (report.known, report.messages) == (there, 1_000 - there)
    assert words(store, "s") == [f"text {number}" for number in range(1_000)]


def test_bytes_are_told_as_they_are_read(store):
    told = []
    path = SAMPLES / "claude_code.jsonl"
    take(store, path, on_read=told.append)
    assert sum(told) == path.stat().st_size
    assert len(told) == len(path.read_text(encoding="utf-8").splitlines())


# -- logs of requests


def test_requests_that_name_their_session_are_taken_once(store, tmp_path):
    lines = [{"session_id": "named", "messages": chat(*"abc"[:count])} for count in (1, 2, 3)]
    take(store, write_lines(tmp_path / "log.jsonl", lines))
    assert words(store, "named") == ["a", "b", "c"]


def test_a_request_inside_another_object_keeps_its_system_message(store, tmp_path):
    lines = [{"request": {"system": "be kind", "messages": chat("a")}}]
    take(store, write_lines(tmp_path / "log.jsonl", lines))
    assert words(store, "log.1") == ["be kind", "a"]


# -- files and folders


def test_an_empty_file_is_no_session(store, tmp_path):
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "blank.jsonl").write_text("\n \n")
    report = take(store, tmp_path)
    assert report.failed == {tmp_path / "blank.jsonl": NOT_KNOWN, tmp_path / "empty.jsonl": NOT_KNOWN}
    assert heads(store) == {}


def test_a_folder_of_many_files_is_taken_and_other_endings_are_counted(store, tmp_path):
    for number in range(2_000):
        folder = tmp_path / f"{number % 10}"
        folder.mkdir(exist_ok=True)
        write_lines(folder / f"log-{number}.jsonl", [said(1, "hi", sessionId=f"s{number}")])
    for name in ("notes.md", "more.md", "LICENSE"):
        (tmp_path / "3" / name).write_text("x")
    report = take(store, tmp_path)
    assert report.tools == {"claude-code": 2_000}
    assert (report.messages, len(report.sessions), len(heads(store))) == (2_000, 2_000, 2_000)
    assert report.skipped == {"file with ending .md": 2, "file without an ending": 1}
    assert report.failed == {}


@pytest.mark.parametrize(
    "content", ['{"type": "other", "id": 3}', "[]", "5", "null", "# A heading", '{"messages": []}']
)
def test_an_unknown_tool_is_refused(store, tmp_path, content):
    (tmp_path / "log.json").write_text(content)
    report = take(store, tmp_path / "log.json")
    assert report.failed == {tmp_path / "log.json": NOT_KNOWN}
    assert report.tools == {}


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_too_large_is_told_with_the_limit(store, tmp_path, monkeypatch, packed):
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 2 * 2**20)
    monkeypatch.setattr(transcripts, "LARGEST_WHOLE", 3 * 2**20)
    chats = json.dumps({"messages": [{"role": "user", "content": "x" * 2**22}]}).encode()
    lines = b'{"a": "' + b"x" * 2**21 + b'"}\n'
    (path := tmp_path / "chat.json").write_bytes(chats)
    (path_of_lines := tmp_path / "lines.jsonl").write_bytes(lines)
    if packed:
        path, path_of_lines = tmp_path / "chat.json.gz", tmp_path / "lines.jsonl.gz"
        path.write_bytes(gzip.compress(chats))
        path_of_lines.write_bytes(gzip.compress(lines + b"no JSON\n"))
    value = f"one JSON value of more than 3 MB{' when unpacked' if packed else ''}, the most that is read at once"
    assert take(store, path).failed == {path: f"too large to be recognised: {value}"}
    if packed:
        assert take(store, path_of_lines).failed == {path_of_lines: "too large to be recognised: line longer than 2 MB"}
    else:
        assert take(store, path_of_lines).failed == {path_of_lines: NOT_KNOWN}  # as one value it can be read


def test_a_file_of_too_many_objects_is_told_with_the_limit(store, tmp_path, monkeypatch):
    monkeypatch.setattr(transcripts, "MOST_CONTAINERS", 1_000)
    (path := tmp_path / "chat.json").write_text(json.dumps({"messages": [{"role": "user", "content": [{}] * 1_000}]}))
    value = "one JSON value of more than 1,000 lists and objects, the most that is read at once"
    assert take(store, path).failed == {path: f"too large to be recognised: {value}"}


def test_files_that_cannot_be_opened_are_told(store, tmp_path):
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    (tmp_path / "plain").write_text("")
    paths = [tmp_path / "vanished.jsonl", tmp_path / "loop.jsonl", tmp_path / "plain" / "inside.jsonl"]
    report = take(store, *paths, write_lines(tmp_path / "good.jsonl", [said(1, "x")]))
    assert list(report.failed) == paths
    assert report.failed[paths[0]] == "No such file or directory"
    assert all(report.failed.values())
    assert report.messages == 1


def test_a_file_that_must_not_be_read_is_told(store, tmp_path):
    path = write_lines(tmp_path / "secret.jsonl", [said(1, "x")])
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        assert take(store, path).failed == {path: "Permission denied"}
    else:
        pytest.skip("this user may read everything")


def test_a_packed_file_is_read(store, tmp_path):
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(said(1, "x")) + "\n").encode()))
    assert take(store, tmp_path).messages == 1
    path.write_bytes(b"not packed")
    assert list(take(store, tmp_path).failed) == [path]


def test_a_packed_file_that_is_cut_off_is_told(store, tmp_path):
    path = tmp_path / "log.jsonl.gz"
    data = gzip.compress((json.dumps(said(1, "x")) + "\n").encode())
    path.write_bytes(data[: len(data) // 2])
    assert list(take(store, path).failed) == [path]


# -- sessions and ids


def test_two_files_that_claim_the_same_ids_lose_nothing(store, tmp_path):
    one = write_lines(tmp_path / "1.jsonl", [said(1, "one"), answered(1, "m", text("same")), said(2, "two")])
    other = write_lines(tmp_path / "2.jsonl", [said(1, "uno"), answered(1, "m", text("same")), said(2, "due")])
    take(store, one)
    report = take(store, other)
    assert (report.messages, report.known) == (3, 0)
    (renamed,) = report.renamed
    assert words(store, "s") == ["one", "same", "two"]
    assert words(store, renamed.taken) == ["uno", "same", "due"]
    assert take(store, one, other).messages == 0


def test_two_files_that_claim_the_same_ids_are_taken_once(store, tmp_path):
    one = write_lines(tmp_path / "1.jsonl", [said(1, "one")])
    other = write_lines(tmp_path / "2.jsonl", [said(1, "uno")])
    take(store, one, other)
    assert take(store, one, other).messages == 0


def test_two_files_of_a_session_with_summaries_on_the_same_line_keep_both(store, tmp_path):
    lines = [json.loads(line) for line in (SAMPLES / "pi.jsonl").read_text(encoding="utf-8").splitlines()]
    take(store, write_lines(tmp_path / "1.jsonl", lines))
    lines[8]["summary"] = lines[8]["summary"].replace("kite", "dragon")
    (renamed,) = take(store, write_lines(tmp_path / "2.jsonl", lines)).renamed
    for name in ("kite-v1", renamed.taken):
        assert len(journal(store, name).state.renditions) == 1


def test_an_id_that_is_given_twice_in_a_file_is_taken_twice(store, tmp_path):
    path = write_lines(tmp_path / "log.jsonl", [said(1, "one"), said(1, "two"), said(1, "three")])
    take(store, path)
    assert words(store, "s") == ["one", "two", "three"]
    assert take(store, path).known == 3


@pytest.mark.parametrize(
    "name",
    [
        "a/b",
        "..",
        ".",
        "../../etc/passwd",
        "x" * 5_000,
        "",
        "  ",
        "-",
        "名前",
        "a\nb",
        "con:1",
        "_backup/1",
        "_x",
    ],
)
def test_a_name_that_no_session_can_have_becomes_one(store, tmp_path, name):
    path = write_lines(tmp_path / "log.jsonl", [said(1, "x", sessionId=name)])
    report = take(store, path)
    assert report.messages == 1
    (session,) = heads(store)
    require_session_id(session)
    assert report.sessions == {session}
    assert take(store, path).known == 1


def test_names_that_look_alike_stay_apart(store, tmp_path):
    names = ["a/b", "a:b", "a-b", "a//b", "x" * 200, "x" * 201]
    take(store, write_lines(tmp_path / "log.jsonl", [said(1, name, sessionId=name) for name in names]))
    assert len(heads(store)) == len(names)
    assert all_roles(store) == {"user": len(names)}


def test_an_import_joins_what_somebody_else_wrote_meanwhile(store, tmp_path):
    lines = [said(number, f"{number}") for number in range(450)]
    path = write_lines(tmp_path / "log.jsonl", lines[:1])
    take(store, path)
    write_lines(path, lines)
    mine = pt.Session.open(store, id="s")

    def interfere(_count):
        mine.refresh()
        mine.grant("team")

    report = take(store, path, on_read=interfere)
    assert report.messages == 449
    assert words(store, "s") == [f"{number}" for number in range(450)]


def test_what_was_imported_goes_to_the_vendor_as_it_was(store, tmp_path):
    lines = [said(1, "go"), answered(1, "m1", call("c1")), result(2, "c1"), answered(2, "m2", text("done"))]
    take(store, write_lines(tmp_path / "log.jsonl", lines))
    assert anthropic.dump(messages(store, "s"))["messages"] == [
        {"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": [call("c1")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "result of c1"}]},
        {"role": "assistant", "content": [text("done")]},
    ]
