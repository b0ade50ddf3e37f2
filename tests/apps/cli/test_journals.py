"""The commands that read a store, run as a user runs them."""

import json
import sqlite3

import pytest

import pageturn as pt
from pageturn.stores import open_store
from pageturn.values.messages import developer
from tests.apps.cli.command import run
from tests.sessions import leave_staged, open_session, store_of, take_turn


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "agent.db")
    session = open_session(file, id="login-bug", scope="team")
    session.append(pt.system("You are a coding agent."))
    take_turn(session, 1)
    session.append(developer("hidden nudge", visibility=pt.Visibility.INTERNAL))
    session.erase(session.append(pt.user("forget this")))
    session.fork("branch")
    session.close()
    return file


def test_pages_are_shown_without_internal_ones_unless_asked(path):
    shown = run("show", path, "--session", "login-bug", "--scope", "team").stdout
    for words in ("p2-", "bootstrap", "question 1", "result 1"):
        assert words in shown
    assert "hidden nudge" not in shown
    assert "1 internal page hidden" in shown
    assert "hidden nudge" in run("show", path, "-s", "login-bug", "--scope", "team", "--internal").stdout


def test_recall_finds_what_may_be_seen_and_says_no_match(path):
    found = run("recall", path, "result", "-s", "login-bug", "--scope", "team")
    assert found.returncode == 0
    assert "result 1" in found.stdout
    assert "tool, bash" in found.stdout
    for words in ("zebra", "nudge", "forget"):
        missing = run("recall", path, words, "-s", "login-bug", "--scope", "team")
        assert (missing.returncode, missing.stdout) == (1, "no match\n")
    assert run("recall", path, "nudge", "-s", "login-bug", "--scope", "team", "--internal").returncode == 0


def test_export_writes_json_lines_without_internal_text(path):
    lines = run("export", path, "-s", "login-bug", "--scope", "team").stdout.splitlines()
    assert [json.loads(line)["role"] for line in lines] == ["system", "user", "assistant", "tool"]
    assert all(pt.from_json(pt.Message, line) for line in lines)
    assert len(run("export", path, "-s", "login-bug", "--scope", "team", "--internal").stdout.splitlines()) == 5


def test_the_newest_session_is_meant_where_none_is_named(path):
    assert (
        run("export", path, "--scope", "team").stdout == run("export", path, "-s", "branch", "--scope", "team").stdout
    )


def test_the_doctor_says_that_all_is_well(path):
    healthy = run("doctor", path)
    assert healthy.returncode == 0
    assert healthy.stdout == "2 sessions, 10 entries: no problems found\n"


def test_the_doctor_says_what_is_wrong(path):
    store = open_store(path)
    store._connection.execute("UPDATE blobs SET data = CAST(data || 'x' AS BLOB)")
    ill = run("doctor", path)
    assert ill.returncode == 1
    assert "login-bug: p2-" in ill.stdout
    assert "its text is not what was written" in ill.stdout.replace("\n", " ")


def test_the_doctor_settles_what_a_crash_left_staged(tmp_path):
    file = str(tmp_path / "staged.db")
    session = open_session(file)
    page = session.append(pt.user("x"))
    leave_staged(session, pt.Proposal(field="memory.a", value=1, evidence=(page.handle,)))
    store_of(session).close()
    shown = run("doctor", file)
    assert shown.returncode == 0
    assert "settled 1 proposal that a crash had left staged" in shown.stdout
    assert open_session(file).reader.memory("a") == [1]
    assert "settled" not in run("doctor", file).stdout


def test_vacuum_says_what_it_would_free_and_frees_it_when_asked(path):
    store = open_store(path)
    store._connection.execute("INSERT INTO blobs VALUES ('orphan', x'0011')")
    assert run("vacuum", path).stdout == "would free 1 blobs, 2 bytes\nuse --yes to free them\n"
    assert run("vacuum", path, "--yes").stdout == "freed 1 blobs, 2 bytes\n"
    assert run("vacuum", path).stdout == "would free 0 blobs, 0 bytes\n"


@pytest.mark.parametrize("command", ["sessions", "show", "doctor", "vacuum", "export"])
def test_a_store_that_is_not_there_is_one_line_and_is_not_made(command, tmp_path):
    wrong = run(command, str(tmp_path / "none.db"))
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("pageturn: store: expected the path of an existing store, got ")
    assert len(wrong.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_is_not_there_is_one_line_with_those_that_are(path):
    wrong = run("show", path, "-s", "nope", "--scope", "team")
    assert wrong.returncode == 1
    assert (
        wrong.stderr.replace("in scope 'team' ", "")
        == "pageturn: session: expected a session of this store (branch, login-bug), got 'nope'\n"
    )


def test_a_file_that_is_no_store_is_one_line(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("notes " * 100)
    wrong = run("show", str(file))
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (1, 1)
    assert "file is not a database" in wrong.stderr


def test_text_with_control_characters_and_markup_is_shown_as_text(tmp_path):
    file = str(tmp_path / "odd.db")
    session = open_session(file)
    session.append(pt.user("[red]not red[/red] \x1b[2J and [/] more"))
    session.close()
    shown = run("show", file)
    assert shown.returncode == 0
    assert "[red]not red[/red]" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "\x1b" not in run("recall", file, "more").stdout


def test_markup_in_names_is_shown_as_it_is(tmp_path):
    path = str(tmp_path / "m.db")
    with open_session(path, scope="[/x]") as session:
        session.extend([pt.assistant(pt.ToolCall(id="c", name="[/x]", arguments="{}")), pt.tool_result("c", "zebra")])
    assert "[/x]" in run("sessions", path).stdout
    assert "[/x]" in run("recall", path, "zebra", "--scope", "[/x]").stdout


def test_a_name_that_no_session_can_have_is_refused(path):
    told = run("show", path, "-s", "\udcff")
    assert told.returncode == 1
    assert told.stderr.startswith("pageturn: id: expected 1 to 128 letters")


def test_the_doctor_survives_a_journal_with_a_hole(path):
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM records WHERE seq = 3")
        db.execute("DELETE FROM snapshots")
    told = run("doctor", path)
    assert told.returncode == 1
    assert "login-bug: entry 3 is missing: its page" in " ".join(told.stdout.split())
    assert "Traceback" not in told.stderr
    for command in ("show", "export"):
        told = run(command, path, "--scope", "team")
        assert told.stderr.startswith("pageturn: session 'login-bug': entry 3 is missing")
        assert "question 1" in told.stdout


def damaged(path, *statements):
    with sqlite3.connect(path, isolation_level=None) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


# What is done to a store, what the doctor says of it, what a repair says, and whether no problems are left after it.
REPAIRS = [
    ("UPDATE snapshots SET body = zeroblob(length(body))", "the snapshot at entry 10 is damaged", "", True),
    ("DELETE FROM words_data", "the index", "the index was rebuilt", True),
    (
        "DELETE FROM words_docsize WHERE id IN (SELECT min(id) FROM words_docsize)",
        "is missing from the index",
        "rebuilt from",
        True,
    ),
    ("DELETE FROM refs", "so a vacuum would delete it", "marked as needed again", True),
    ("UPDATE sessions SET key = x'00' WHERE id = 'branch'", "session 'branch': its row was altered", "", True),
    ("DELETE FROM sessions WHERE id = 'branch'", "its row is missing, or was renamed", "", True),
    ("UPDATE sessions SET parent = id", "its row was altered", "", True),
    ("UPDATE records SET chain = zeroblob(32) WHERE seq = 4", "was altered, the entry is whole", "", True),
    ("DELETE FROM losses", "which entries were erased cannot be determined", "the list of erasures was rebuilt", True),
    (
        "DELETE FROM losses_end",
        "which entries were erased cannot be determined",
        "the list of erasures was rebuilt",
        True,
    ),
    ("UPDATE blobs SET digest = digest || 'x'", "is missing", "was found elsewhere", True),
    ("DELETE FROM blobs WHERE CAST(data AS TEXT) LIKE '%question 1%'", "is missing", "", False),
    (
        "UPDATE records SET body = CAST('{}' AS BLOB) WHERE seq = 3",
        "can be rebuilt from its text",
        "entry 3 was altered",
        True,
    ),
    ("DELETE FROM records WHERE seq = 2", "its content is lost", "entry 2 is missing", True),
    ("DELETE FROM records WHERE seq > 7", "entry 8 and whatever came after it is missing", "entry 8", True),
]


@pytest.mark.parametrize(("statement", "found", "done", "is_well"), REPAIRS)
def test_the_doctor_repairs_what_can_be_repaired_after_a_copy(path, tmp_path, statement, found, done, is_well):
    damaged(path, *(["DELETE FROM snapshots"] if "records" in statement else []), statement)
    before = run("doctor", path)
    assert before.returncode == 1
    assert found in " ".join(before.stdout.split())
    repaired = run("doctor", path, "--repair")
    shown = " ".join(repaired.stdout.split())
    assert repaired.returncode == (0 if is_well else 1), shown
    assert done in shown
    copy = tmp_path / "agent.db.before-repair-1"
    assert str(copy.name) in shown.replace(" ", "")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert found in " ".join(run("doctor", str(copy)).stdout.split())
    exported = run("export", path, "-s", "login-bug", "--scope", "team")
    assert exported.returncode == (0 if is_well else 1)
    assert "result 1" in exported.stdout or "seq > 7" in statement
    assert "Traceback" not in before.stderr + repaired.stderr


def test_a_loss_stays_visible_after_a_repair_and_the_session_goes_on(path):
    damaged(path, "DELETE FROM snapshots", "DELETE FROM records WHERE seq = 2")
    with pytest.raises(pt.Damaged, match=r"session 'login-bug': entry 2 is missing; it may have been a rule.*--repair"):
        pt.Session.open(path, id="login-bug", scope="team").derive()
    assert run("doctor", path, "--repair").returncode == 0
    session = pt.Session.open(path, id="login-bug", scope="team")
    assert session.derive().messages
    assert "entry 2 is missing, and is lost" in str(session.reader.faults()[-1].entry.fault)


def test_a_repair_of_a_sound_store_does_nothing(path, tmp_path):
    told = run("doctor", path, "--repair")
    assert (told.returncode, "no problems found" in told.stdout) == (0, True)
    assert list(tmp_path.glob("*before-repair*")) == []


def test_recall_all_searches_the_other_sessions_of_the_scope_and_names_them(tmp_path):
    path = str(tmp_path / "agent.db")
    for id, scope in (("old", "team"), ("new", "team"), ("foreign", "others")):
        with pt.Session.open(path, id=id, scope=scope) as session:
            session.append(pt.user(f"the walrus of {id}"))
    one = run("recall", path, "walrus", "--session", "new", "--scope", "team")
    assert ("walrus of new" in one.stdout, "walrus of old" in one.stdout) == (True, False)
    found = run("recall", path, "walrus", "--session", "new", "--scope", "team", "--all").stdout
    assert [name in found for name in ("walrus of new", "walrus of old", "walrus of foreign")] == [True, True, False]
    assert "old p" in found
