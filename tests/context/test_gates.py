"""ClawVM's six gates, through the session itself: what must never be lost, and what must never be silent."""

import pageturn as pt
from tests.context.checks import check_pairs, check_rules
from tests.context.test_turns import words, work
from tests.sessions import call, leave_staged, open_session, store_of


def read(session, number, path, text):
    """One call of a tool, with its result."""
    session.derive()
    reading = pt.ToolCall(id=f"r{number}", name="read", arguments=f'{{"path": "{path}"}}')
    session.append(pt.assistant(f"reading {path}", reading))
    return session.append(pt.tool_result(reading, text))


def test_bootstrap_is_shown_after_every_fold():
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.extend([pt.system("You are careful. Never push to main."), pt.user("Fix it.")])
    folds = [context for context in work(session, 60) if context.fold]
    assert len(folds) >= 3
    for context in folds:
        assert context.messages[0].text == "You are careful. Never push to main."
    assert session.reader.fault_counts()["post_compaction_bootstrap"] == 0


def test_what_is_staged_survives_a_reset():
    session = open_session()
    page = session.append(pt.user("The port is 8443."))
    leave_staged(session, pt.Proposal(field="memory.port", op="append", value=8443, evidence=(page.handle,)))
    assert session.reader.memory("port") is None
    session.reset("All is said.")
    assert session.reader.memory("port") == [8443]
    assert session.reader.fault_counts()["flush_miss"] == 0


def test_a_jump_far_over_the_budget_in_one_append_is_folded_at_once():
    session = open_session(policy=pt.Paged.thrifty(4_000))
    session.extend([pt.system("You are careful."), pt.user("Fix it.")])
    session.pin("Never push to main.")
    session.derive()
    calls = [call(number) for number in range(30)]
    session.append(pt.assistant("all at once", *calls))
    session.extend(pt.tool_result(each, f"result_{each.id} " * 400) for each in calls)
    context = session.derive()
    assert context.tokens <= 4_000
    check_rules(session, context)
    check_pairs(context.messages)


def test_recall_is_never_silently_empty():
    session = open_session(scope="mine")
    session.append(pt.user("The port is 8443."))
    assert session.recall("zebra").code == "no_match"
    assert session.recall("port", scope="theirs").code == "denied"
    assert session.resolve("p1-aaaa").code == "no_match"
    store_of(session).close()
    assert session.recall("port").code == "backend_error"


def test_what_would_overwrite_is_refused_with_a_reason():
    session = open_session()
    page = session.append(pt.user("The port is 8443."))
    done = pt.Proposal(field="memory.port", op="set_with_version", value=1, version=0, evidence=(page.handle,))
    assert isinstance(session.write_back(done), pt.Committed)
    refused = session.write_back(done)
    assert isinstance(refused, pt.Rejected)
    assert refused.reason.code == "destructive_op"


def test_a_call_that_is_repeated_because_its_result_sank_is_a_duplicate_tool():
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.append(pt.user("Fix it."))
    text = "\n".join(f"setting_{n} = value_{n}" for n in range(60))
    first = read(session, 0, "src/settings.py", text)
    work(session, 30)
    assert session.reader.level(first) < pt.ResidencyLevel.COMPRESSED
    read(session, 1, "src/settings.py", text)
    assert [(record.entry.fault.code, record.entry.page) for record in session.reader.faults()] == [
        ("duplicate_tool", first.seq)
    ]
    assert text in words(session.derive())


def test_a_call_that_is_repeated_while_its_result_is_visible_is_no_fault():
    session = open_session(policy=pt.Paged.thrifty(30_000))
    session.append(pt.user("Fix it."))
    for number in range(2):
        read(session, number, "src/settings.py", "setting = 1\n" * 40)
    assert session.reader.faults() == ()


def test_looking_again_at_something_that_changed_is_no_fault():
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.append(pt.user("Fix it."))
    read(session, 0, "src/settings.py", "setting = 1\n" * 60)
    work(session, 30)
    read(session, 1, "src/settings.py", "setting = 2\n" * 60)
    assert session.reader.faults() == ()


def test_the_same_bytes_by_another_way_are_a_refetch():
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.append(pt.user("Fix it."))
    text = "\n".join(f"setting_{n} = value_{n}" for n in range(60))
    read(session, 0, "src/settings.py", text)
    work(session, 30)
    read(session, 1, "./src/settings.py", text)
    assert list(session.reader.fault_counts()) == ["refetch"]
