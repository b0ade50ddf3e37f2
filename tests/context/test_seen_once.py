"""What is new is shown whole once, also beside a call that is still open, unless it alone takes more than half of the room."""

import pytest

import pageturn as pt
from pageturn.values.layout import Why
from tests.context.test_turns import words, work
from tests.sessions import call, open_session, reopened

POLICIES = (pt.Reset, pt.Incremental, pt.Paged)


def results_of(context):
    return [str(result.content) for message in context.messages for result in message.tool_results]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("can_recall", [True, False])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_result_is_whole_while_its_sibling_is_still_open(policy, can_recall, order):
    session = open_session(policy=policy(4_000), **({} if can_recall else {"recall": None}))
    session.append(pt.user("Fix the login in src/auth.py"))
    work(session, 20)
    session.derive()
    calls = [call("x", "read", '{"path": "x.py"}'), call("y", "read", '{"path": "y.py"}')]
    session.append(pt.assistant("both", *calls))
    for number in order:
        body = f"value_{number} = compute()\n" * 90
        session.append(pt.tool_result(calls[number], body))
        assert body in results_of(session.derive()) or body.rstrip("\n") in words(session.derive())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_late_result_is_whole_though_what_was_seen_of_its_unit_has_no_room(policy):
    session = open_session(policy=policy(4_000))
    session.append(pt.user("Fix the login in src/auth.py"))
    one, two = call("x", "read", '{"path": "x.py"}'), call("y", "read", '{"path": "y.py"}')
    session.derive()
    session.append(pt.assistant("both", one, two))
    session.append(pt.tool_result(one, "\n".join(f"line {n}: value_{n} = {n}" for n in range(250))))
    session.derive()
    session.append(pt.assistant("meanwhile"))
    late = "\n".join(f"late {n}: other_{n} = {n}" for n in range(70))
    page = session.append(pt.tool_result(two, late))
    session.choose(policy(3_000))
    context = session.derive()
    assert context.fold is not None
    assert late in results_of(context)
    assert not any("too large" in notice for notice in context.notices)
    assert len(results_of(context)[0]) < 4_000
    session.append(pt.assistant("done"))
    assert late in results_of(session.derive())
    assert pt.to_json(list(reopened(session).derive().messages)) == pt.to_json(list(session.derive().messages))
    assert session.reader.level(page) is pt.ResidencyLevel.FULL


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_too_large_beside_an_open_call_is_shortened_and_said(policy):
    session = open_session(policy=policy(2_000))
    session.append(pt.user("Fix the login in src/auth.py"))
    session.derive()
    one, two = call("x", "read", '{"path": "x.py"}'), call("y", "read", '{"path": "y.py"}')
    session.append(pt.assistant("both", one, two))
    page = session.append(pt.tool_result(one, "\n".join(f"line {n}: value_{n} = {n}" for n in range(220))))
    context = session.derive()
    assert any("too large" in notice for notice in context.notices)
    assert context.explain(page.handle).level in (pt.ResidencyLevel.COMPRESSED, pt.ResidencyLevel.STRUCTURED)
    assert "value_1" in "\n".join([words(context), *results_of(context)])


@pytest.mark.parametrize("policy", POLICIES)
def test_what_the_model_said_itself_is_new_once_too(policy):
    session = open_session(policy=policy(3_000))
    session.append(pt.user("Write about src/auth.py"))
    for number in range(12):
        session.derive()
        essay = f"Chapter {number}. " + "And so it went on. " * 60
        session.append(pt.assistant(essay))
        session.append(pt.user("go on"))
        assert essay in words(session.derive())


def test_turns_without_a_context_were_seen_by_nobody_else():
    """What a host appends that it showed to a model by itself counts as seen; after the first context only contexts show."""
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.extend([pt.user("Fix src/auth.py"), pt.assistant("first")])
    remark = "an old remark, line by line\n" * 250
    session.extend([pt.user(remark, synthetic=True), pt.assistant("second")])
    session.append(pt.user("go"))
    assert remark not in words(session.derive(budget_tokens=2_500))  # half of the room, and seen
    session.append(pt.assistant("third"))
    body = "value = compute()\n" * 120
    read = call(1, "read")
    session.extend([pt.assistant("reading", read), pt.tool_result(read, body)])
    session.append(pt.assistant("a turn that nobody derived"))
    assert body in results_of(session.derive(budget_tokens=2_000))


def unseen(context, pages):
    return [page.handle for page in pages if context.explain(page.handle).why is Why.UNSEEN]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_stood_before_the_first_context_and_was_answered_is_not_new(policy):
    """A host that showed its model everything by itself; what came since the model's last answer is new all the same."""
    session = open_session(policy=policy(3_000))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 12, derive=False)
    session.append(pt.assistant("that was all"))
    seen = session.reader.pages()
    read = call("new", "read", '{"path": "new.py"}')
    session.extend([pt.user("And this one?", synthetic=True), pt.tool_result(read, "fresh = compute()\n" * 60)])
    context = session.derive()
    assert context.fold is not None
    assert unseen(context, seen) == []
    assert unseen(context, session.reader.pages()) == [page.handle for page in session.reader.pages()[-2:]]


@pytest.mark.parametrize("policy", POLICIES)
def test_after_the_first_context_a_turn_that_nobody_derived_showed_nothing(policy):
    session = open_session(policy=policy(3_000))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 12)
    first = len(session.reader.pages())
    work(session, 2, start=12, lines=30, derive=False)
    session.append(pt.assistant("a turn that nobody derived"))
    session.choose(policy(2_900))  # which makes a fold
    context = session.derive()
    new = session.reader.pages()[first:]
    results = [page for page in new if page.results]
    assert len(results) == 2
    assert unseen(context, results) == [page.handle for page in results]
    assert all(context.explain(page.handle).level is pt.ResidencyLevel.FULL for page in results)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("can_recall", [True, False])
def test_what_is_new_is_whole_though_a_late_result_belongs_to_a_step_that_has_no_room(policy, can_recall):
    """Not even in outlines has that step room; nothing else that is new has to make way for it."""
    session = open_session(policy=policy(9_000), **({} if can_recall else {"recall": None}))
    session.append(pt.user("Fix the login in src/auth.py"))
    calls = [call(f"c{n}", "bash", f'{{"command": "make part_{n}"}}') for n in range(9)]
    session.derive()
    session.append(pt.assistant("all", *calls))
    for part, each in enumerate(calls[:-1]):
        lines = (f"src/auth.py:{n} checks the token_{n * 7 + part} of session_{n * part}" for n in range(60))
        session.append(pt.tool_result(each, "\n".join(lines)))
    session.derive()
    session.append(pt.assistant("meanwhile"))
    session.append(pt.tool_result(calls[-1], "the last part is made"))
    told = " ".join(f"Part {n} of the build was made in {n} seconds." for n in range(20))
    news = session.append(pt.user(told, synthetic=True))
    session.choose(policy(1_000))
    context = session.derive()
    assert context.explain(news.handle).level is pt.ResidencyLevel.FULL
    assert told in words(context)
    assert "a new page is too large to be shown whole" in context.notices  # the last result alone


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_too_large_is_whole_when_the_model_fetches_it_again(policy):
    session = open_session(policy=policy(8_000))
    session.append(pt.user("Fix the login in src/auth.py"))
    bodies = ["\n".join(f"{name} {n}: value_{n} = compute({n})" for n in range(240)) for name in ("one", "two")]

    def read(attempt):
        calls = [call(f"{name}{attempt}", "read", f'{{"path": "{name}.py"}}') for name in ("one", "two")]
        session.append(pt.assistant("both", *calls))
        session.extend([pt.tool_result(asked, body) for asked, body in zip(calls, bodies, strict=True)])
        return session.derive()

    work(session, 40)
    session.derive()
    first = read(1)
    assert not all(body in results_of(first) for body in bodies)
    assert any("too large" in notice for notice in first.notices)
    again = read(2)
    assert all(body in results_of(again) for body in bodies)
    assert again.tokens <= 8_000


def test_a_fold_that_nothing_demands_waits_where_it_would_shorten_what_is_new():
    def names(kind, count):
        return " ".join(f"{kind}{at}x{at * 7 % 13}" for at in range(count))

    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [{"name": f"tool{at}", "description": names("d", 120), "input_schema": schema} for at in range(4)]
    session = open_session(model="my-model", policy=pt.Paged(6_000))
    session.append(pt.user("Find the bug in the parser and fix it, please."))
    pages = [session.append(pt.user(names(f"r{at}_", 100))) for at in range(3)]
    context = session.derive(tools)
    assert context.fold is None
    assert context.notices == ()
    assert all(context.explain(page.handle).level is pt.ResidencyLevel.FULL for page in pages)
