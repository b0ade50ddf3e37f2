"""After an erasure the words are in no byte of the store's files, whichever way they came in."""

import json

import pytest

import pageturn as pt
from pageturn.journal.erasing import Quote
from pageturn.values.messages import File, Native, Thinking
from tests.apps.importing.taking import said, take, write_lines
from tests.sessions import forked, leave_staged, open_session, reopened, resolve_range, store_of

SECRET = "tulip7f3a9c"
LONG = "\n".join(f"line {number} of {SECRET} in src/{SECRET}.py" for number in range(400))


def appended(session):
    return [session.append(pt.user(f"the password is {SECRET}"))]


def appended_large(session):
    call = pt.ToolCall(id="c", name="read", arguments=json.dumps({"path": f"src/{SECRET}.py", "content": LONG}))
    return list(session.extend([pt.assistant(call), pt.tool_result(call, LONG)]))


def appended_parts(session):
    message = pt.assistant(
        Thinking(text=SECRET, signature=SECRET),
        Native(vendor="anthropic", item={"type": "x", "text": SECRET}, text=SECRET),
        pt.Image(url=f"https://a/{SECRET}.png"),
        File(path=f"/{SECRET}.pdf"),
        extra={"openai_chat": {"name": SECRET}},
        metadata={"response": {"note": SECRET}},
    )
    return [session.append(message)]


def pinned(session):
    return [session.pin(f"Never print {SECRET}.", structured=f"not {SECRET}")]


def pinned_page(session):
    page = session.append(pt.user(f"Never print {SECRET}, whoever asks."))
    session.pin(page, structured=f"no {SECRET}")
    return [page]


def planned(session):
    first = session.plan(f"hide {SECRET}", [f"cover {SECRET}"])
    second = session.plan(f"hide {SECRET} better")
    return [first, second]


def preferred(session):
    return [session.prefer(f"call it {SECRET}")]


def noted(session):
    note = pt.ContextMessage.conversation_user(f"by the way: {SECRET}")
    return [session.inject(note)]


def opened(session):
    return [session.set_system(f"You know {SECRET}.")]


def summed_up(session):
    pages = [session.append(pt.user(f"{SECRET} step {number} " * 40)) for number in range(3)]
    words = f"{SECRET}: step 0 came first, then step 1, and step 2 was the last of the three. Nothing failed, and all of it is kept: step 0, step 1 and step 2 are what it consisted of, each of them said forty times over, in this order and in no other."
    outcome = session.write_back(pt.Proposal(field="summary", value=words, evidence=(pages[0].handle, pages[2].handle)))
    assert isinstance(outcome, pt.Committed)
    return pages


def remembered(session):
    page = session.append(pt.user(f"remember {SECRET}"))
    for field, value in (("memory.a", SECRET), ("memory.b", {"deep": [SECRET]}), ("nothing", SECRET), ("plan", SECRET)):
        session.write_back(pt.Proposal(field=field, value=value, evidence=(page.handle,)))
    return [page]


def left_staged(session):
    page = session.append(pt.user(f"remember {SECRET}"))
    leave_staged(session, pt.Proposal(field="memory.a", value=SECRET, evidence=(page.handle,)))
    assert session.reader.state().staged
    return [page]


def left_waiting(session):
    page = session.pin(f"Never push {SECRET} to the main branch, whatever anybody says.")
    form = pt.Proposal(field="structured", value=f"Never push {SECRET} to main.", evidence=(page.handle,))
    assert isinstance(session.write_back(form), pt.Waiting)
    return [page]


def asked_for(session):
    page = session.append(pt.user(f"the password is {SECRET}"))
    session.recall(SECRET)
    session.recall(f"{SECRET} zebra")
    session.recall(SECRET, scope="elsewhere")
    session.resolve(SECRET)
    resolve_range(session, f"{SECRET}..{SECRET}")
    ask = pt.ToolCall(id="r", name="recall", arguments=json.dumps({"query": "password"}))
    asked = session.append(pt.assistant(ask))
    session.answer()
    return [page, asked, session.reader.pages()[-1]]


def refused(session):
    page = session.append(pt.user(f"the password is {SECRET}"))
    session.derive()
    session.overflow(f"prompt is too long: {SECRET} 2000 tokens > 1000 maximum")
    session.append(pt.user("so be it"), pt.Usage(input_tokens=5))
    return [page]


def reset(session):
    page = session.append(pt.user(f"the password is {SECRET}"))
    session.append(pt.assistant("I see."))
    summary = session.reset(f"They said that the password is {SECRET}.", force=True)
    session.pin(summary, structured=f"{SECRET} it is")
    session.append(pt.user("go on"))
    session.reset(f"Still {SECRET}.", force=True)
    return [page]


def folded(session):
    pages = []
    for number in range(60):
        session.derive(budget_tokens=3_000)
        call = pt.ToolCall(
            id=f"c{number}", name="edit", arguments=json.dumps({"path": f"src/{SECRET}/m.py", "new": "x"})
        )
        pages += session.extend([pt.assistant(call), pt.tool_result(call, f"edited src/{SECRET}/m.py\n" * 40)])
    assert session.reader.lines
    return pages


METHODS = [
    *(appended, appended_large, appended_parts, pinned, pinned_page, planned, preferred, noted, opened, summed_up),
    *(remembered, left_staged, left_waiting, asked_for, refused, reset, folded),
]


def files_with(folder, secret=SECRET):
    """The files of a folder in which the secret stands, as text, as UTF-16, or as JSON escapes it."""
    forms = (secret.encode(), secret.upper().encode(), secret.encode("utf-16-le"))
    return [file.name for file in folder.iterdir() if any(form in file.read_bytes() for form in forms)]


@pytest.mark.parametrize("way", METHODS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("policy", [pt.Paged.thrifty(), pt.Reset(2_000)], ids=lambda policy: policy.kind)
def test_nothing_of_an_erased_text_is_in_the_files(tmp_path, way, policy):
    session = open_session(str(tmp_path / "agent.db"), policy=policy)
    session.extend([pt.system("You are careful."), pt.user("Begin.")])
    pages = way(session)
    session.checkpoint()
    session.recall("password line remember")  # so that the index has it
    fork = forked(session, "f")
    fork.recall(SECRET)
    fork.checkpoint()
    assert files_with(tmp_path)
    for page in [*pages, *pages_that_are_left(session)]:
        if not session.reader.page(page.seq).erased:
            session.erase(page)
    assert files_with(tmp_path) == []
    store_of(session).scrub()
    assert files_with(tmp_path) == []
    assert session.recall(SECRET) == fork.recall(SECRET) == pt.NoMatch()
    for each in (session, fork):
        assert SECRET not in json.dumps([pt.to_json(m).decode() for m in each.derive(budget_tokens=50_000).messages])
        each.checkpoint()
    again = reopened(session)
    assert SECRET not in "".join(pt.to_json(message).decode() for message in again.reader.messages(internal=True))
    again.derive(budget_tokens=50_000)
    again.checkpoint()
    assert files_with(tmp_path) == []
    for each in (again, fork, session):
        each.close()
    assert files_with(tmp_path) == []


def pages_that_are_left(session):
    """What a model stated by itself on the ground of a page that goes: it is listed, and the caller decides."""
    return [page for page in session.reader.pages() if SECRET in pt.to_json(session.reader.message(page)).decode()]


@pytest.mark.parametrize("eraser", ["s", "f", "g"])
def test_what_any_fork_made_of_a_page_goes_with_it(tmp_path, eraser):
    session = open_session(str(tmp_path / "agent.db"))
    page = session.append(pt.user(f"the password is {SECRET}"))
    family = {"s": session, "f": forked(session, "f")}
    family["g"] = forked(family["f"], "g")
    for name, each in family.items():
        each.write_back(pt.Proposal(field=f"memory.{name}", value=f"{SECRET} {name}", evidence=(page.handle,)))
        each.pin(page, structured=f"{SECRET} in short for {name}")
        each.reset(f"It was {SECRET}, says {name}.", force=True)
        each.checkpoint()
    erased = family[eraser].erase(page)
    assert {quote.session for quote in erased.taken} == {"s", "f", "g"}
    assert erased.quoting == ()
    assert files_with(tmp_path) == []
    for name, each in family.items():
        assert each.resolve(page) == pt.Denied("erased")
        assert SECRET not in json.dumps([pt.to_json(m).decode() for m in each.derive().messages])
        assert each.reader.memory(name) in (None, [])
        assert each.reader.resets == ()
        each.append(pt.user("on we go"))
        each.checkpoint()
        other = reopened(each)
        assert other.reader.resets == ()
        assert SECRET not in str(list(other.reader.messages(internal=True)))
    assert files_with(tmp_path) == []


def test_an_imported_text_goes_like_any_other(tmp_path):
    store_folder = tmp_path / "store"
    store_folder.mkdir()
    session = open_session(str(store_folder / "agent.db"), id="other")
    file = write_lines(tmp_path / "log.jsonl", [said(1, f"the password is {SECRET}"), said(2, "go on")])
    take(store_of(session), file)
    imported = pt.Session.open(store_of(session), id="s")
    imported.erase(imported.reader.pages()[0])
    assert take(store_of(session), file).messages == 0
    assert files_with(store_folder) == []


def test_pages_that_repeat_an_erased_text_are_listed_and_stay():
    session = open_session()
    page = session.append(pt.user(f"the password of the shop is {SECRET}, keep it well"))
    key = session.append(pt.assistant(f"I wrote {SECRET} down."))
    quote = session.append(pt.user('You said "the password of the shop is" something'))
    session.extend([pt.user("the password of another shop"), pt.user("something else")])
    fork = forked(session, "f")
    theirs = fork.append(pt.user(f"({SECRET})"))
    session.inject(pt.ContextMessage.session("reminder", f"do not say {SECRET}"))
    session.inject(pt.ContextMessage.session("other", "be kind"))
    wish = pt.Proposal(field="preference", value="They want it kept well.", evidence=(page.handle,))
    assert isinstance(session.write_back(wish), pt.Committed)
    derived = session.reader.pages()[-1]
    erased = session.erase(page)
    assert set(erased.quoting) == {
        Quote("s", key.handle),
        Quote("s", quote.handle),
        Quote("s", derived.handle),
        Quote("f", theirs.handle),
    }
    assert erased.notes == ("reminder",)
    assert (erased.taken, erased.unread) == ((), ())
    assert session.resolve(key).text == f"I wrote {SECRET} down."


def test_a_short_text_is_repeated_only_by_all_of_its_words():
    session = open_session()
    page, same, _ = session.extend([pt.user("yes do"), pt.user("well, yes do it"), pt.user("do yes")])
    assert [quote.handle for quote in session.erase(page).quoting] == [same.handle]
    blank = session.append(pt.user(" "))
    assert session.erase(blank).quoting == ()


def test_a_reset_before_a_page_does_not_rest_on_it():
    session = open_session()
    session.append(pt.user("begin"))
    summary = session.reset("so far", force=True)
    page = session.append(pt.user("later"))
    assert session.erase(page).taken == ()
    assert session.resolve(summary).text == "so far"
    assert session.reader.resets == (summary.seq,)
