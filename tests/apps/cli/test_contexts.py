"""The commands that say what a model sees, run as a user runs them."""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.journal.journal import Journal
from pageturn.lab import OracleReplay
from pageturn.session import Parts
from pageturn.stores import open_store
from pageturn.values.entries import PolicyChosen
from pageturn.values.messages import developer
from pageturn.values.notes import NoteDecision
from tests.apps.cli.command import run
from tests.sessions import Clock, call, open_session, resolve_range, take_turn, write_elsewhere

TURNS = 30


@pytest.fixture(scope="module")
def folded(tmp_path_factory):
    """The file of a session that was folded several times."""
    file = tmp_path_factory.mktemp("folded") / "agent.db"
    session = open_session(file, id="login-bug", policy=pt.Paged.thrifty(1_500))
    session.append(pt.system("You are a coding agent."))
    session.pin("Never push to main.")
    session.append(pt.user("Login returns 500 since yesterday."))
    for number in range(TURNS):
        session.derive()
        ask = call(number, "read_file", f'{{"path": "src/auth/part_{number}.py"}}')
        session.append(pt.assistant(f"Step {number}.", ask))
        session.append(pt.tool_result(ask, f"def check_{number}(token_{number}): return token['exp'] < now()\n" * 9))
    session.close()
    return file


@pytest.fixture
def path(folded, tmp_path):
    """A copy of it."""
    return str(shutil.copy(folded, tmp_path))


def reader(file):
    """The session of a file, to compare with; what it derives is not written."""
    store = open_store(file)
    journal = Journal(store, store.sessions()[0])
    return pt.Session(journal, Parts(clock=Clock()))


def rows(shown):
    """The rows of the table, as words without their bars, and the lines below it."""
    lines = shown.stdout.splitlines()
    below = next(at for at, line in enumerate(lines) if " tokens for " in line)
    return [re.sub(r"[▏▎▍▌▋▊▉█]+", "", line).split() for line in lines[1:below]], lines[below:]


def stored(file):
    return Path(file).read_bytes(), sorted(each.name for each in Path(file).parent.iterdir())


# -- context


def test_a_context_has_a_row_for_everything_it_shows(path):
    looked = reader(path)
    context = looked.derive()
    shown = run("context", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    table, below = rows(shown)
    placements = context.layout.placements
    assert [row[0].split("..")[0].split("-")[0] for row in table] == [f"p{each.first}" for each in placements]
    assert [(row[-3], row[-2], row[-1]) for row in table] == [
        (str(each.level), f"{each.tokens:,}", str(each.why)) for each in placements
    ]
    assert table[0][1:4] == ["bootstrap", "system", "full"]
    assert table[1][1:4] == ["constraint", "system", "full"]
    assert len({row[-3] for row in table}) >= 3
    assert below[0].startswith(f"{context.tokens:,} of 1,500 tokens for gpt-5; recall tool ")
    fold = f"last fold in turn {looked.reader.folds[-1]}"
    assert below[0].endswith(
        f"; {fold}" if context.fold is None else "; folded because the context had outgrown its budget"
    )


def test_the_tools_and_the_rows_add_up_to_the_total(path):
    table, below = rows(run("context", path))
    tokens, tools = (
        int(re.search(pattern, below[0])[1].replace(",", "")) for pattern in (r"^(\S+) of", r"recall tool (\S+);")
    )
    assert sum(int(row[-2].replace(",", "")) for row in table) + tools == tokens


def test_notes_have_rows_of_their_own_and_are_in_the_total(tmp_path):
    file = str(tmp_path / "noted.db")
    session = open_session(file)
    session.extend([pt.system("base"), pt.user("hello")])
    session.inject(pt.ContextMessage.system("os", "linux"))
    session.inject(pt.ContextMessage.suffix_system("end [red]", "be brief", cooldown_turns=2))
    session.derive()
    session.append(pt.assistant("done"))
    session.close()
    shown = run("context", file)
    lines = [line.split() for line in shown.stdout.splitlines()]
    at = lines.index(["note", "band", "tokens", "why"])
    note = reader(file).derive().notes[0]
    assert lines[at + 1 : at + 3] == [
        ["os", "system", str(note.tokens), "as", "sent", "before"],
        ["end", "[red]", "none", "0", "its", "cooldown", "is", "not", "over"],
    ]
    total = next(line for line in shown.stdout.splitlines() if " tokens for " in line)
    tokens, tools, notes = map(int, re.match(r"(\d+) of .* recall tool (\d+), notes (\d+);", total).groups())
    pages = sum(int(re.search(r"full +(\d+)", line)[1]) for line in shown.stdout.splitlines()[1:at])
    assert (notes, pages + tools + notes) == (note.tokens, tokens)
    refused = run("context", file, "--text")
    assert refused.stderr == "pageturn: text: expected a context without internal content, or --internal, got 1 note\n"
    assert "linux" in run("context", file, "--text", "--internal").stdout


def test_pending_and_late_results_are_in_the_total(tmp_path):
    file = str(tmp_path / "late.db")
    session = open_session(file)
    session.extend([pt.user("hello"), pt.assistant(call(1), call(2)), pt.tool_result("c1", "one"), pt.user("hm")])
    session.extend([pt.assistant("meanwhile"), pt.tool_result("c2", "two")])
    session.close()
    table, below = rows(run("context", file))
    tokens, tools, between = map(
        int, re.match(r"(\d+) of .* recall tool (\d+), pending and late results (\d+);", below[0]).groups()
    )
    assert between > 0
    assert sum(int(row[-2]) for row in table) + tools + between == tokens


def test_the_pages_of_index_lines_are_counted(path):
    table, below = rows(run("context", path, "--budget", "700"))
    lines = [row for row in table if row[1:3] == ["index", "line"]]
    assert lines
    pages = sum(int(row[3]) for row in lines)
    assert pages > 10
    assert f"; {pages} pages in {len(lines)} index line" in below[0]
    session = reader(path)
    for row in lines:
        assert len(resolve_range(session, row[0])) == int(row[3])


def test_a_longer_bar_means_more_tokens(path):
    lines = run("context", path).stdout.splitlines()
    bars = [(int(found[1]), len(found[2])) for line in lines if (found := re.search(r" (\d+)  (█+)", line))]
    assert len(bars) > 2
    assert max(bars)[1] == max(length for _, length in bars) > min(bars)[1]


def test_nothing_is_written(path):
    before = stored(path)
    for arguments in ([], ["--budget", "600"], ["--text"], ["--model", "claude-opus-5"]):
        assert run("context", path, *arguments).returncode == 0
    assert run("diff", path).returncode == 0
    assert stored(path) == before


def test_a_context_that_must_fold_says_so_and_why(path):
    told = rows(run("context", path, "--budget", "700"))[1]
    assert "700 tokens for gpt-5" in told[0]
    assert told[0].endswith("; folded because the context had outgrown its budget")


def test_notices_are_counted_and_shown(path):
    _, below = rows(run("context", path, "--budget", "600"))
    context = reader(path).derive(budget_tokens=600)
    assert context.notices
    assert f"; {len(context.notices)} notice" in below[0]
    assert below[1:] == [*context.notices]


def test_long_tables_are_shortened_in_the_middle(path):
    whole, below = rows(run("context", path))
    short, same = rows(run("context", path, "--rows", "6"))
    assert same == below
    assert (short[:2], short[3:]) == (whole[:2], whole[-3:])
    left_out = whole[2:-3]
    assert short[2] == ["...", str(len(left_out)), "more", "rows", f"{sum(int(row[-2]) for row in left_out):,}"]
    assert [row[0] for row in rows(run("context", path, "--rows", "1"))[0]] == ["..."]
    assert rows(run("context", path, "--rows", str(len(whole))))[0] == whole


def test_the_text_is_what_the_model_reads(path):
    text = run("context", path, "--text").stdout
    for message in reader(path).derive().messages:
        assert f"{message.role}\n" in text
        for words in (message.text, *(result.content for result in message.tool_results)):
            assert words in text
    assert "tokens for gpt-5" not in text


def test_internal_text_is_shown_only_if_asked_for(tmp_path):
    file = str(tmp_path / "hidden.db")
    session = open_session(file)
    session.extend([pt.user("hello"), developer("hidden \x1b[2J nudge", visibility=pt.Visibility.INTERNAL)])
    session.close()
    refused = run("context", file, "--text")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert (
        refused.stderr
        == "pageturn: text: expected a context without internal content, or --internal, got 1 internal page\n"
    )
    shown = run("context", file, "--text", "--internal").stdout
    assert "nudge" in shown
    assert "\x1b" not in shown
    assert "nudge" not in run("context", file).stdout


@pytest.fixture
def old(tmp_path):
    file = str(tmp_path / "old.db")
    session = open_session(file)
    for number in range(30):
        session.extend([pt.user(f"question {number} " + "with many words " * 20), pt.assistant("answer")])
    return session, file


def test_a_policy_that_looks_ahead_is_derived_as_if_it_were_paged(old):
    session, file = old
    write_elsewhere(session, PolicyChosen(policy=OracleReplay(3)))
    session.close()
    before = stored(file)
    _, below = rows(run("context", file))
    assert "of 221,184 tokens" in below[0]
    said = "the session's policy, oracle_replay, needs to know the next turns: this is what paged would show"
    assert below[-1] == said
    assert (
        "; folded because something that was shown is no longer valid"
        in rows(run("context", file, "--budget", "800"))[1][0]
    )
    assert said in run("why", file, session.reader.pages()[0].handle).stdout
    assert stored(file) == before
    assert reader(file).reader.policy == OracleReplay(3)


@pytest.mark.parametrize(
    ("policy", "limit"), [(pt.Legacy(), "221,184"), (pt.Reset(900), "900"), (pt.Incremental(900), "900")]
)
def test_every_other_policy_is_derived_as_itself(policy, limit, old):
    session, file = old
    session.choose(policy)
    session.close()
    shown = run("context", file).stdout
    assert f"of {limit} tokens" in shown
    assert "would show" not in shown


def test_the_budget_of_the_last_turn_is_named_where_it_was_smaller(tmp_path):
    file = str(tmp_path / "small.db")
    session = open_session(file)
    session.append(pt.user("hello"))
    session.derive(budget_tokens=900)
    session.append(pt.assistant("yes"))
    session.close()
    assert (
        rows(run("context", file))[1][-1]
        == "the last turn had a budget of only 900 tokens: use --budget 900 for the same"
    )
    assert len(rows(run("context", file, "--budget", "900"))[1]) == 1


def test_the_model_that_was_asked_last_is_meant_where_none_is_named(tmp_path):
    file = str(tmp_path / "model.db")
    session = open_session(file)
    session.append(pt.user("hello"))
    session.derive(model="claude-sonnet-4")
    session.append(pt.assistant("yes"))
    session.close()
    assert "tokens for claude-sonnet-4;" in run("context", file).stdout
    assert "tokens for gpt-4o;" in run("context", file, "--model", "gpt-4o").stdout


def test_the_smallest_budget_is_reported_with_the_pages_that_need_it_and_works(path):
    wrong = run("context", path, "--budget", "100")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    told = re.fullmatch(
        r"pageturn: a budget of 100 tokens is too small: (\d+) are needed by (.*?)\. Raise the budget.*\n", wrong.stderr
    )
    session = reader(path)
    assert {page.handle for page in session.reader.pages()[:3]} <= set(told[2].split(", "))
    assert run("context", path, "--budget", told[1]).returncode == 0
    assert run("context", path, "--budget", str(int(told[1]) - 1)).returncode == 1
    assert run("why", path, "p2-aaaa", "--budget", "100").stderr == wrong.stderr


def test_a_budget_that_usage_has_made_smaller_is_reported(tmp_path):
    file = str(tmp_path / "usage.db")
    session = open_session(file)
    session.append(pt.user("hello"))
    counted = session.derive().tokens
    session.append(pt.assistant("yes"), usage=pt.Usage(input_tokens=2 * counted, output_tokens=1))
    session.close()
    told = run("context", file, "--budget", "100").stderr
    left = re.search(r"The policy, the model and the reported usage leave (\d+) of 100 tokens\n$", told)
    assert int(left[1]) < 100


def test_damaged_words_are_a_fault_and_no_traceback(path):
    page = reader(path).reader.pages()[-1]
    with sqlite3.connect(path) as db:
        db.execute("UPDATE blobs SET data = CAST(data || 'x' AS BLOB) WHERE digest = ?", (page.digest,))
    shown = run("context", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\nfault: " in shown.stdout


def test_an_empty_session_has_an_empty_context(tmp_path):
    file = str(tmp_path / "empty.db")
    open_session(file).close()
    shown = run("context", file)
    assert (shown.returncode, rows(shown)[0]) == (0, [])
    assert shown.stdout.rstrip().endswith("; no fold so far")
    assert run("context", file, "--text").stdout == ""


@pytest.mark.parametrize("command", [["context"], ["why", "p2-abcd"], ["diff"]])
def test_a_session_that_is_not_there_is_one_line(command, path):
    wrong = run(command[0], path, *command[1:], "-s", "nope")
    assert wrong.returncode == 1
    assert wrong.stderr == "pageturn: session: expected a session of this store (login-bug), got 'nope'\n"


@pytest.mark.parametrize("wrong", [["--budget", "0"], ["--budget", "many"], ["--rows", "0"]])
def test_numbers_that_make_no_sense_are_a_usage_error(wrong, path):
    assert run("context", path, *wrong).returncode == 2


# -- why


def test_why_says_what_the_context_explains(path):
    context = reader(path).derive()
    handles = [page.handle for page in reader(path).reader.pages()]
    shown = run("why", path, handles[0], handles[3], handles[-1])
    assert shown.returncode == 0
    told = [line for line in shown.stdout.splitlines() if not line.startswith(" ")]
    assert told == [str(context.explain(handle)) for handle in (handles[0], handles[3], handles[-1])]


def test_the_number_of_a_page_or_the_beginning_of_its_handle_is_enough(path):
    page = reader(path).reader.pages()[0]
    whole = run("why", path, page.handle).stdout
    assert whole
    assert run("why", path, f"p{page.seq}").stdout == run("why", path, page.handle[:-2]).stdout == whole
    assert run("page", "show", path, f"p{page.seq}").stdout == run("page", "show", path, page.handle).stdout
    assert run("why", path, "p").returncode == run("why", path, "p999").returncode == 1


def test_every_decision_about_a_note_has_words():
    assert len({decision.because for decision in NoteDecision}) == len(NoteDecision)


def test_why_says_how_to_raise_a_page_and_how_to_read_it(path):
    context, pages = reader(path).derive(), reader(path).reader.pages()
    sunken = next(page for page in pages if context.explain(page.handle).level is pt.ResidencyLevel.STRUCTURED)
    told = run("why", path, sunken.handle).stdout.splitlines()
    assert told[1] == f'  to raise it in full: session.pin("{sunken.handle}")'
    command = told[2].removeprefix("  to read it: pageturn ").split()
    assert "full, " in run(*command).stdout
    session = open_session(path, id="login-bug")
    session.pin(sunken.handle)
    assert session.derive().explain(sunken.handle).level is pt.ResidencyLevel.FULL


def test_why_gives_no_advice_to_pin_a_rule_and_keeps_what_is_whole(path):
    pages = reader(path).reader.pages()
    assert "session.pin" not in run("why", path, pages[0].handle).stdout
    assert f'to keep it in full: session.pin("{pages[-1].handle}")' in run("why", path, pages[-1].handle).stdout


def test_why_says_what_a_page_behind_an_index_line_takes_in_full(path):
    pages = reader(path).reader.pages()
    told = run("why", path, pages[3].handle, "--budget", "700").stdout.splitlines()
    assert "is shown in the index line" in told[0]
    assert told[1] == f"  in full it takes {pages[3].tokens + pages[4].tokens:,} tokens"


@pytest.mark.parametrize("handle", ["p2-aaaa", "p999-abcd", "nonsense", "[/x]"])
def test_a_handle_that_does_not_resolve_is_one_line(handle, path):
    wrong = run("why", path, handle)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("pageturn: handle: expected the handle of a page that this context is made of, got ")


def test_why_needs_a_handle(path):
    assert run("why", path).returncode == 2


# -- diff


def turns(file):
    """The turns of a session, from its records."""
    with sqlite3.connect(file) as db:
        bodies = [
            json.loads(body)
            for (body,) in db.execute("SELECT body FROM records WHERE body <> x'' ORDER BY session, seq")
        ]
    return [body for body in bodies if body["entry"] == "turn"]


def moves(shown):
    lines = shown.stdout.splitlines()
    end = next(at for at, line in enumerate(lines) if line.endswith("unchanged"))
    return [re.split(r"\s{2,}", line.strip()) for line in lines[2:end]]


def test_the_last_fold_is_shown_where_no_turn_is_named(path):
    taken = turns(path)
    last = max(number for number, turn in enumerate(taken, start=1) if turn["shown"].get("fold"))
    shown = run("diff", path)
    now, before = taken[last - 1]["shown"]["tokens"], taken[last - 2]["shown"]["tokens"]
    assert shown.stdout.splitlines()[0] == (
        f"turn {last} folded because the context had outgrown its budget:"
        f" {now:,} of 1,500 tokens, {before:,} in turn {last - 1}"
    )
    assert shown.stdout == run("diff", path, "--turn", str(last)).stdout
    assert last < len(taken)


def test_the_first_fold_lowers_what_was_whole(path):
    taken = turns(path)
    first = next(number for number, turn in enumerate(taken, start=1) if turn["shown"].get("fold"))
    placed = taken[first - 1]["shown"]["fold"]["placed"]
    told = moves(run("diff", path, "--turn", str(first)))
    handles = [page.handle for page in reader(path).reader.pages()]
    lowered = {f"p{seq}": each for seq, each in placed.items() if each["level"] not in ("full", "pointer")}
    shown = {}
    for pages, units, before, after, why in told:
        ends = [next(at for at, handle in enumerate(handles) if handle == end) for end in pages.split("..")]
        inside = [handle.split("-")[0] for handle in handles[ends[0] : ends[-1] + 1]][::2]
        assert len(inside) == int(units)
        shown |= {page: {"level": after, "why": why, "turn": first} for page in inside if before == "full"}
    assert lowered
    assert {page: each for page, each in shown.items() if each["level"] not in ("pointer", "index line")} == lowered


def test_pages_new_in_a_fold_and_its_index_lines_are_shown(path):
    taken = turns(path)
    last = max(number for number, turn in enumerate(taken, start=1) if turn["shown"].get("fold"))
    shown = run("diff", path)
    assert moves(shown)[-1][2:4] == ["absent", "full"]
    lines = taken[last - 1]["shown"]["fold"]["lines"]
    told = re.fullmatch(r"index lines: \d+ before, (\d+) now: (.*)", shown.stdout.splitlines()[-1])
    assert int(told[1]) == len(lines) > 0
    ranges = [re.fullmatch(r"p(\d+)-\w+\.\.p(\d+)-\w+", each) for each in told[2].split(", ")]
    assert [(int(each[1]), int(each[2])) for each in ranges] == [(line["first"], line["last"]) for line in lines]


def test_a_turn_without_a_fold_only_appended(path):
    pages = reader(path).reader.pages()
    shown = run("diff", path, "--turn", "2").stdout.splitlines()
    assert shown[0].startswith("turn 2: ")
    assert shown[1] == f"only appended: {pages[3].handle} assistant, {pages[4].handle} tool"
    first = run("diff", path, "--turn", "1", "--rows", "2").stdout.splitlines()
    assert first[1] == f"only appended: {pages[0].handle} system, {pages[1].handle} system and 1 more"


def test_many_moves_are_shortened_in_the_middle(path):
    taken = turns(path)
    last = str(max(number for number, turn in enumerate(taken, start=1) if turn["shown"].get("fold")))
    whole, short = moves(run("diff", path, "--turn", last)), moves(run("diff", path, "--turn", last, "--rows", "2"))
    assert short == [[f"... {len(whole) - 1} more rows", str(sum(int(row[1]) for row in whole[:-1]))], whole[-1]]


def test_what_was_undone_is_gone(tmp_path):
    file = str(tmp_path / "undone.db")
    session = open_session(file)
    session.append(pt.user("one"))
    session.derive()
    session.append(pt.assistant("first"))
    two = session.append(pt.user("two"))
    session.derive()
    session.append(pt.assistant("second"))
    session.undo()
    three = session.append(pt.user("three"))
    session.derive()
    session.append(pt.assistant("third"))
    session.close()
    shown = run("diff", file)
    assert shown.stdout.startswith("turn 3 folded because something that was shown is no longer valid: ")
    assert moves(shown) == [
        [two.handle, "1", "full", "removed", "undone or erased"],
        [three.handle, "1", "absent", "full", "task"],
    ]
    assert "2 units unchanged" in shown.stdout


def test_pages_that_a_summary_replaces_are_reported(tmp_path):
    file = str(tmp_path / "reset.db")
    session = open_session(file, recall=None)
    one = session.append(pt.user("one", synthetic=True))
    session.derive()
    session.extend([pt.assistant("first"), pt.user("two")])
    session.derive()
    session.append(pt.assistant("second"))
    summary = session.reset("They said one, and first.")
    session.derive()
    session.append(pt.assistant("third"))
    session.close()
    assert moves(run("diff", file))[0][2:] == ["full", "summary", "covered"]
    assert f"  it is replaced by a summary: {summary.handle}" in run("why", file, one.handle).stdout.splitlines()


def test_a_fork_knows_the_turns_of_its_parent(path):
    session = open_session(path, id="login-bug")
    session.fork("branch")
    assert run("diff", path, "-s", "branch").stdout == run("diff", path, "-s", "login-bug").stdout


def test_a_turn_that_was_not_taken_is_one_line_with_those_that_were(path):
    wrong = run("diff", path, "--turn", "99")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    known = ", ".join(str(number) for number in range(TURNS - 19, TURNS + 1))
    assert wrong.stderr == f"pageturn: turn: expected a turn whose context was derived ({known}), got 99\n"
    assert run("diff", path, "--turn", "0").returncode == 2


def test_a_turn_whose_context_was_not_derived_is_reported(tmp_path):
    file = str(tmp_path / "recorded.db")
    session = open_session(file)
    take_turn(session, 1)
    session.close()
    for arguments in ([], ["--turn", "1"]):
        wrong = run("diff", file, *arguments)
        assert wrong.returncode == 1
        got = "a session of 1 turn without a derived context"
        assert wrong.stderr == f"pageturn: turn: expected a turn whose context was derived, got {got}\n"


def test_a_hole_in_the_journal_is_one_line(path):
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM snapshots").fetchone() == (1,)
        db.execute("DELETE FROM records WHERE seq = 3")
    wrong = run("diff", path)
    assert wrong.returncode == 1
    assert wrong.stderr.endswith("entry 3 is missing\n")
    assert len(wrong.stderr.splitlines()) == 1
