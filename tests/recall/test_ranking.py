"""What recall puts first: names that are said whole, results for their calls, what people said, and the newest of equals."""

import json

import pytest

import pageturn as pt
from pageturn.recall.question import aims_of, is_wish
from pageturn.stores.words import parts_of, terms
from tests.sessions import Clock, open_session, store_of


def read(session, number, path, text):
    call = pt.ToolCall(id=f"c{number}", name="read_file", arguments=json.dumps({"path": path}))
    return session.extend([pt.assistant(call), pt.tool_result(call, text)])[1]


def found(session, query, **options):
    recalled = session.recall(query, **options)
    return [hit.handle for hit in recalled.hits] if isinstance(recalled, pt.Recalled) else []


def test_a_result_is_found_by_the_path_that_only_its_call_names():
    session = open_session()
    login = read(session, 1, "src/auth/login.py", "def check(token):\n    return token.exp > now()")
    read(session, 2, "src/auth/logout.py", "def leave():\n    drop()")
    session.append(pt.assistant("I have read login and logout in src/auth by now."))
    assert found(session, "/home/dev/project/src/auth/login.py", limit=1) == [login.handle]
    assert found(session, "src/auth/login.py")[0] == login.handle
    assert len(found(session, "src/auth/login.py")) == 1  # the call is folded into its result


def test_of_parallel_calls_the_one_that_is_asked_for_is_answered():
    session = open_session()
    calls = [pt.ToolCall(id=name, name="read_file", arguments=json.dumps({"path": f"src/{name}.py"})) for name in "abc"]
    session.append(pt.assistant(*calls))
    pages = [session.append(pt.tool_result(call, f"text of {call.id}")) for call in calls]
    assert found(session, "src/b.py") == [pages[1].handle]


def test_a_call_without_a_result_is_found_itself():
    session = open_session()
    page = session.append(pt.assistant(pt.ToolCall(id="c", name="bash", arguments='{"command": "make walrus"}')))
    assert found(session, "walrus") == [page.handle]


def test_the_newest_of_equals_comes_first():
    session = open_session()
    pages = [read(session, number, "src/state.py", f"value = {number}") for number in range(3)]
    assert found(session, "src/state.py") == [page.handle for page in reversed(pages)]


def test_what_a_person_said_comes_before_what_a_model_said():
    session = open_session()
    session.append(pt.assistant("The deadline of the launch is a date to agree on."))
    person = session.append(pt.user("The deadline of the launch is a Friday in May."))
    session.append(pt.assistant("A deadline for the launch, then, noted as a deadline."))
    assert found(session, "deadline of the launch")[0] == person.handle
    assert found(session, "Which deadline of the launch did you suggest?")[0] != person.handle


def test_how_somebody_always_wants_it_comes_up_with_what_is_to_be_done():
    session = open_session()
    session.extend([pt.user("Please look at the tests of the parser."), pt.assistant("ok")])
    wish = session.append(pt.user("Always run the tests before a commit."))
    assert found(session, "run tests", limit=1) == [wish.handle]
    assert is_wish("I'd rather have tabs") and not is_wish("nothing of the kind")  # noqa: PT018
    assert not aims_of("How many tests did I run?").wants_wishes


def test_a_hit_shows_the_sentence_and_opens_there():
    session = open_session()
    filler = "Nothing of note happened on that day, and so the log goes on. "
    page = session.append(
        pt.tool_result("c", filler * 80 + "The cause was a stale lock – naïve, but true. " + filler * 80)
    )
    hit = session.recall("cause of the stale lock").hits[0]
    assert "The cause was a stale lock" in hit.excerpt
    opened = session.resolve(hit.handle, start=hit.start, length=400)
    assert "The cause was a stale lock" in opened.text
    assert hit.handle == page.handle
    assert 0 < hit.start < 80 * len(filler)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("where is src/auth/login.py", ["src/auth/login.py", "login.py"]),
        ("Can you list the order in which I mentioned birds?", ["birds"]),
        ("can you tell me more", ["can", "tell", "me", "more"]),
        ("UserAccount and useraccount", ["UserAccount", "useraccount"]),
    ],
)
def test_the_terms_of_a_query(query, expected):
    assert terms(query) == expected


def test_a_name_that_nobody_said_whole_is_found_by_its_parts():
    session = open_session()
    page = session.append(pt.user("the commit hooks are manual"))
    assert parts_of("manualCommit_hooks.go") == ["manual", "commit", "hooks", "go"]
    assert found(session, "manual_commit_hooks.go") == [page.handle]
    whole = session.append(pt.user("see manual_commit_hooks.go"))
    assert found(session, "manual_commit_hooks.go") == [whole.handle]


def test_the_tool_tells_where_to_open_a_long_page():
    session = open_session()
    filler = "Nothing of note happened on that day, and so the log goes on. "
    session.append(pt.tool_result("c", filler * 80 + "The cause was a stale lock."))
    start = session.recall("cause stale lock").hits[0].start
    call = pt.ToolCall(id="r", name="recall", arguments='{"query": "cause stale lock"}')
    session.append(pt.assistant(call))
    session.answer()
    assert start > 4_000
    told = session.reader.messages()[-1].tool_results[0].content
    assert f"an excerpt; start {start} opens it there" in told


def look_back(session, number, **asked):
    call = pt.ToolCall(id=f"r{number}", name="recall", arguments=json.dumps(asked))
    session.append(pt.assistant(call))
    session.answer()
    return session.reader.messages()[-1].tool_results[0]


def test_the_tool_finds_originals_however_often_it_was_asked():
    session = open_session()
    page = session.append(pt.tool_result("c", "The cause was a stale lock."))
    for number in range(40):
        told = look_back(session, number, query="cause of the stale lock")
        assert page.handle in told.content
        assert not told.is_error
    assert found(session, "cause of the stale lock") == [page.handle]
    assert found(session, "cause of the stale lock", where={"tool": "recall"}) == []


def test_a_message_that_also_calls_another_tool_is_found():
    session = open_session()
    calls = [pt.ToolCall(id=name, name=name, arguments='{"query": "the walrus"}') for name in ("recall", "grep")]
    page = session.append(pt.assistant(*calls))
    assert found(session, "walrus") == [page.handle]


def test_a_tool_of_the_host_may_be_called_recall_where_ours_is_not():
    session = open_session(recall=pt.RecallTool(name="look_back"))
    call = pt.ToolCall(id="c", name="recall", arguments='{"id": 7}')
    session.append(pt.assistant(call))
    page = session.append(pt.tool_result(call, "The part was recalled for its walrus."))
    assert found(session, "walrus") == [page.handle]


def test_the_tool_filters_and_a_slip_filters_nothing():
    session = open_session()
    session.append(pt.user("the walrus of the first turn"))
    session.append(pt.assistant("a walrus, then"))
    page = read(session, 1, "src/walrus.py", "def walrus(): ...")
    session.append(pt.user("the walrus again"))

    def told(number, **asked):
        return look_back(session, number, query="walrus", **asked).content

    assert told(1, role="user").count("<page>") == 2
    assert told(2, role="user", turns=[1, 1]).count("<page>") == 1
    for number, filter_ in enumerate(({"tool": "read_file"}, {"path": "src/walrus"}, {"role": "tool"}), start=3):
        assert (told(number, **filter_).count("<page>"), page.handle in told(number + 10, **filter_)) == (1, True)
    for number, slip in enumerate(
        ({"role": "human"}, {"turns": "all"}, {"turns": [1, 2, 3]}, {"tool": 3}, {"path": ""})
    ):
        assert told(number + 20, **slip).count("<page>") == 4


def test_identical_pages_are_one_hit_that_says_how_many():
    session = open_session()
    pages = [session.append(pt.user("the walrus sleeps")) for _ in range(6)]
    other = session.append(pt.user("a walrus, and what else there is in the garden of the zoo"))
    hits = session.recall("walrus sleeps").hits
    assert [(hit.handle, hit.count) for hit in hits] == [(pages[-1].handle, 6), (other.handle, 1)]
    assert "said 6 times" in look_back(session, 1, query="walrus sleeps").content


def test_results_are_identical_if_they_answer_the_same_call():
    session = open_session()
    first = read(session, 1, "src/walrus.py", "the walrus")
    again = read(session, 2, "src/walrus.py", "the walrus")
    other = read(session, 3, "src/penguin.py", "the walrus")
    counts = {hit.handle: hit.count for hit in session.recall("walrus").hits}
    assert counts == {again.handle: 2, other.handle: 1}
    assert first.handle not in counts


def test_the_latest_value_comes_first_where_the_question_asks_for_it():
    session = open_session()
    old = session.append(pt.user("The deadline of the launch is in May."))
    session.extend(pt.assistant(f"Something else was done in step {number}, as it says here.") for number in range(20))
    new = session.append(pt.user("The deadline of the launch is in June, as we said."))
    assert found(session, "deadline of the launch") == [old.handle, new.handle]
    for question in ("current deadline of the launch", "What is the latest deadline of the launch?"):
        assert found(session, question) == [new.handle, old.handle]


def test_a_hit_names_its_neighbours_and_when_it_was():
    session = open_session()
    before = session.append(pt.user("where does it sleep?"))
    page = session.append(pt.assistant("the walrus sleeps on ice"))
    session.extend([pt.user("undone"), pt.assistant("this too")])
    session.undo()
    session.append(pt.user("hidden", visibility=pt.Visibility.INTERNAL))
    after = session.append(pt.user("thanks"))
    hidden = session.reader.pages(uncounted=True)[-2]
    (hit,) = session.recall("walrus").hits
    assert (hit.handle, hit.before, hit.after) == (page.handle, before.handle, hidden.handle)
    assert (hit.turn, hit.time.timestamp()) == (1, page.at / 1_000_000)
    assert session.resolve(hit.before).text == "where does it sleep?"
    (last,) = session.recall("thanks").hits
    assert (last.handle, last.after) == (after.handle, None)


def test_of_sessions_that_disagree_the_newest_comes_first_where_the_question_asks_for_what_holds_now():
    clock = Clock()
    old = open_session(id="old", clock=clock)
    old.append(pt.user("The deploy region is eu-west-1 for the billing service."))
    new = open_session(store_of(old), id="new", clock=clock)
    new.append(pt.user("The deploy region of billing moved to us-east-2."))
    asker = open_session(store_of(old), id="asker")
    found = asker.recall("What is the current deploy region for the billing service?", sessions=["old", "new"])
    assert [hit.session for hit in found.hits] == ["new", "old"]
    plain = asker.recall("What is the deploy region for the billing service?", sessions=["old", "new"])
    assert [hit.session for hit in plain.hits] == ["old", "new"]


def test_the_same_words_in_two_sessions_are_one_hit():
    clock = Clock()
    one = open_session(id="one", clock=clock)
    two = open_session(store_of(one), id="two", clock=clock)
    for session in (one, two):
        session.append(pt.user("The login token expires after 15 minutes."))
    (hit,) = open_session(store_of(one), id="asker").recall("login token", sessions=["one", "two"]).hits
    assert (hit.session, hit.count) == ("two", 2)
