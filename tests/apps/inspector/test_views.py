"""What each view says of a session, as the JSON that a browser gets."""

import json

import pytest

import pageturn as pt
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.inspector.views.page import page_view
from pageturn.apps.inspector.views.routing import routing_view
from pageturn.apps.inspector.views.search import search_view
from pageturn.apps.inspector.views.session import page_rows, session_view
from pageturn.apps.inspector.views.session_list import SessionList
from pageturn.apps.inspector.views.turn import turn_view
from pageturn.values.errors import InvalidInput, StoreError
from pageturn.values.json import to_json
from pageturn.values.pages import ResidencyLevel
from tests.apps.inspector.stores import HOSTILE, TASK, as_reported
from tests.sessions import call, open_session


def as_json(view):
    return json.loads(to_json(view))


# -- the store


def test_nothing_that_the_inspector_holds_can_write(opened):
    row = opened.rows()[0]
    for write in (
        lambda: opened.store.create(row._replace(id="new")),
        lambda: opened.store.amend([], lambda _: {}),
        lambda: opened.store.vacuum(dry_run=False),
        lambda: pt.Session(opened.session("login-bug").journal).append(pt.user("hello")),
        lambda: pt.Session(opened.session("login-bug").journal).pin("hello"),
    ):
        with pytest.raises(StoreError, match="for reading only"):
            write()


# -- sessions


def test_the_list_says_what_each_session_is_about_and_took(kept, opened):
    view = as_json(SessionList().view(opened, lambda: True))
    assert view["complete"] is True
    rows = {row["id"]: row for row in view["sessions"]}
    assert set(rows) == {"login-bug", "hostile", "hostile-fork", "other-tenant"}
    inside = rows["login-bug"]["inside"]
    used = [as_reported(context) for context in kept.contexts]
    assert inside["title"] == TASK
    assert (inside["turns"], inside["model"], inside["client"]) == (30, "claude-sonnet-5", "library")
    assert inside["input_tokens"] == sum(each.input_tokens for each in used)
    price = pt.values.model_prices.price_of("claude-sonnet-5")
    assert inside["dollars"] == pytest.approx(sum(map(price.dollars, used)))
    assert inside["folds"] == sum(context.fold is not None for context in kept.contexts)
    assert rows["hostile-fork"]["parent"] == "hostile"
    assert rows["hostile-fork"]["inside"]["turns"] == 0  # its turns are its parent's


def test_a_list_that_takes_long_comes_in_parts(opened):
    sessions = SessionList()
    looks = iter([True, False, False, False])
    first = sessions.view(opened, lambda: next(looks))
    assert (first.complete, sum(row.inside is not None for row in first.sessions)) == (False, 1)
    assert sessions.view(opened, lambda: True).complete


def test_a_scope_hides_the_sessions_of_others(kept):
    with Opened(Place(kept.file, scope="tenant-b")) as narrow:
        assert [row.id for row in narrow.rows()] == ["other-tenant"]
        with pytest.raises(InvalidInput, match="login-bug"):
            narrow.session("login-bug")
        assert search_view(narrow, "login", None).hits == ()


# -- a session


def test_a_session_has_its_turns_and_pages_as_columns_of_one_length(kept, opened):
    view = as_json(session_view(opened.session("login-bug")))
    turns, pages = view["turns"], view["pages"]
    assert {len(turns[name]) for name in turns if name not in ("sent", "everything", "trim")} == {30}
    assert {len(column) for name in ("sent", "everything", "trim") for column in turns[name].values()} == {30}
    assert {len(column) for column in pages.values()} == {len(opened.session("login-bug").reader.pages())}
    assert turns["tokens"] == [context.tokens for context in kept.contexts]
    assert [reason is not None for reason in turns["fold"]] == [context.fold is not None for context in kept.contexts]
    assert view["levels"] == ["full", "compressed", "structured", "pointer", "nowhere"]
    assert view["price"]["dollars_per_million"] == 2
    assert view["trim_tokens"] == kept.contexts[-1].budget_tokens
    assert {"pin", "policy", "model"} <= {event["kind"] for event in view["events"]}


def test_the_last_moves_are_the_levels_that_the_session_says(opened):
    looked = opened.session("login-bug")
    view = session_view(looked)
    for handle, moves in zip(view.pages.handle, view.pages.moves, strict=True):
        if moves:
            assert view.levels[moves[-1]] == str(looked.reader.level(handle))


def test_another_trim_is_another_line(opened):
    looked = opened.session("login-bug")
    small, large = (session_view(looked, trim).turns for trim in (1_000, 10**7))
    assert sum(small.trim.cached) < sum(large.trim.cached)
    assert large.trim == large.everything
    assert small.sent == large.sent


def test_beginnings_of_pages_come_in_stretches(opened):
    looked = opened.session("login-bug")
    rows = page_rows(looked, 1, 2)
    assert [row.handle for row in rows.rows] == [page.handle for page in looked.reader.pages()[1:3]]
    assert len(page_rows(looked, 0, 10**6).rows) <= 300


# -- a turn


def test_a_turn_has_the_very_messages_and_says_where_each_comes_from(kept, opened):
    looked = opened.session("login-bug")
    for number in (1, 12, 30):
        view, context = turn_view(looked, number), kept.contexts[number - 1]
        assert view.flaw == ""
        assert [each.role for each in view.messages] == [str(message.role) for message in context.messages]
        assert sum(share.tokens for share in view.shares) == view.tokens == context.tokens
        handles = {handle for each in view.messages for handle in each.handles}
        assert handles <= {page.handle for page in looked.reader.pages()}
        for each in view.messages:
            assert each.level in [*map(str, ResidencyLevel)], each
    rule = next(each for each in view.messages if "Never push" in each.parts[0].text)
    assert (rule.kind, rule.why) == ("constraint", "it is a rule")


def test_a_turn_between_folds_only_adds_and_one_that_folds_says_what_is_gone(kept, opened):
    looked = opened.session("login-bug")
    folds = [at for at, context in enumerate(kept.contexts, start=1) if context.fold is not None]
    plain = next(at for at in range(3, 30) if at not in folds)
    between, folded = turn_view(looked, plain), turn_view(looked, folds[-1])
    before = len(kept.contexts[plain - 2].messages)
    assert (between.change.same, between.change.new, between.change.gone) == (before, between.total - before, ())
    assert folded.fold.startswith("folded because")
    assert folded.change.gone_tokens > 0
    assert folded.change.new == sum(each.is_new for each in folded.messages)


def test_a_long_request_comes_in_stretches(tmp_path):
    with open_session(tmp_path / "a.db", id="s") as session:
        for number in range(450):
            session.append(pt.user(f"word {number}"))
        session.append(pt.assistant("done"))
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        looked = opened.session("s")
        parts = [turn_view(looked, 1, start) for start in (0, 200, 400)]
    assert [len(part.messages) for part in parts] == [200, 200, 50]
    said = [each.parts[0].text for part in parts for each in part.messages]
    assert said == [f"word {number}" for number in range(450)]


def test_a_turn_of_a_gateway_says_what_its_client_sent(tmp_path):
    told = {"endpoint": "anthropic/messages", "request_bytes": 9_000, "sent_bytes": 2_000, "tools_tokens": 50}
    with open_session(tmp_path / "a.db", id="s", policy=pt.Paged(budget_tokens=1_500)) as session:
        session.append(pt.user("Mend the login."))
        for number in range(20):
            session.derive()
            asked = call(number, "read_file", "{}")
            session.append(pt.assistant(f"I read {number}", asked, metadata={"gateway": told}))
            session.append(pt.tool_result(asked, f"value_{number} = 1\n" * 40))
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        looked = opened.session("s")
        derived, whole = turn_view(looked, 20), turn_view(looked, 20, by_client=True)
        assert SessionList().view(opened, lambda: True).sessions[0].inside.client == "gateway, anthropic/messages"
    assert (derived.client.bytes, derived.client.sent_bytes, derived.client.messages) == (9_000, 2_000, 39)
    assert whole.total == 39
    assert derived.total < 39
    assert [each.role for each in whole.messages[:3]] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("number", [0, 31, 10**8])
def test_a_turn_that_is_not_there_is_refused(opened, number):
    with pytest.raises(InvalidInput, match="1 to 30"):
        turn_view(opened.session("login-bug"), number)


# -- a page


def test_a_page_has_its_levels_its_history_and_who_used_it(opened):
    looked = opened.session("login-bug")
    result = next(page for page in looked.reader.pages() if page.results)
    view = page_view(looked, result.handle)
    assert view.tool == "read_file"
    assert view.levels[0].level == "full"
    assert [each.tokens for each in view.levels] == sorted((each.tokens for each in view.levels), reverse=True)
    assert [move.level for move in view.moves][:2] == ["full", view.moves[1].level]
    assert "value_0" in view.parts[0].text
    assert len(view.unit) == 2
    assert view.why.startswith(view.handle)


def test_later_calls_that_name_what_a_page_says_are_listed_with_its_level_then(tmp_path):
    with open_session(tmp_path / "a.db", id="s") as session:
        said = session.append(pt.user("Look at refund_invoice_total in src/billing/invoices.py."))
        session.derive()
        asked = call(1, "grep", '{"pattern": "refund_invoice_total"}')
        session.append(pt.assistant(asked))
        session.append(pt.tool_result(asked, "nothing"))
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        (use,) = page_view(opened.session("s"), said.handle).uses
    assert (use.turn, use.tool, use.names, use.shown) == (1, "grep", ("refund_invoice_total",), "full")


def test_a_very_long_page_comes_in_pieces(opened):
    looked = opened.session("hostile")
    long = max(looked.reader.pages(), key=lambda page: page.size)
    first, last = page_view(looked, long.handle), page_view(looked, long.handle, 290_000)
    assert (len(first.parts[0].text), first.parts[0].size) == (20_000, 300_000)
    assert last.parts[0].text == "x" * 10_000


def test_internal_words_are_shown_only_to_those_who_asked_for_them(kept):
    for internal in (False, True):
        with Opened(Place(kept.file, internal=internal)) as store:
            looked = store.session("hostile")
            hidden = next(page for page in looked.reader.pages() if page.visibility is pt.Visibility.INTERNAL)
            last = len(looked.history.turns)
            views = {
                "page": page_view(looked, hidden.handle),
                "rows": page_rows(looked, 0, 300),
                "turn": turn_view(looked, last),
                "client": turn_view(looked, last, by_client=True),
                "search": search_view(store, "swordfish", None).hits,
            }
            assert {name: b"swordfish" in to_json(view) for name, view in views.items()} == dict.fromkeys(
                views, internal
            )
            others = [session_view(looked), *SessionList().view(store, lambda: True).sessions]
            assert not any(b"swordfish" in to_json(view) for view in others)
            assert not any(b"xyzzy" in to_json(view) for view in (*views.values(), *others))


def test_an_erased_page_says_so(opened):
    looked = opened.session("hostile")
    gone = next(page for page in looked.reader.pages(uncounted=True) if page.erased)
    view = page_view(looked, gone.handle)
    assert (view.state, view.parts, view.levels) == ("erased", (), ())


@pytest.mark.parametrize("handle", ["p1-zzzz", "nonsense", "", "p99999-aaaa", "../p1"])
def test_a_page_that_is_not_there_is_refused(opened, handle):
    with pytest.raises(InvalidInput, match="handle"):
        page_view(opened.session("login-bug"), handle)


# -- search and routing


def test_search_finds_pages_in_all_sessions_or_in_one(opened):
    everywhere = search_view(opened, "compute_12", None)
    assert everywhere.hits[0].session == "login-bug"
    assert everywhere.hits[0].turn == 14  # that the result of turn 13 led to
    nothing = search_view(opened, "compute_12", "hostile")
    assert (nothing.hits, nothing.outcome) == ((), "no match")
    assert search_view(opened, "  ", None).hits == ()


def test_search_gives_hostile_words_back_as_they_are(opened):
    hit = search_view(opened, "pwned zerowidth javascript", "hostile").hits[0]
    assert "<script>" in hit.excerpt
    assert json.loads(to_json(hit))["excerpt"] == hit.excerpt


def test_routing_has_posteriors_with_intervals_and_decisions_with_reasons(opened):
    view = as_json(routing_view(opened, None))
    assert (view["scope"], view["total"]) == ("default", 12)
    for each in view["posteriors"]:
        assert 0 <= each["low"] <= each["mean"] <= each["high"] <= 1
    assert sum(each["outcomes"] for each in view["posteriors"]) == 11
    assert [each["outcome"] for each in view["decisions"]].count("none yet") == 1
    first = view["decisions"][0]
    assert first["choice"] in first["why"]
    assert sum(one["chance"] for one in first["candidates"]) == pytest.approx(1, abs=0.01)


def test_every_view_of_hostile_words_is_json_with_those_words(opened):
    looked = opened.session("hostile")
    handle = looked.reader.pages()[1].handle
    assert as_json(page_view(looked, handle))["parts"][0]["text"].startswith(HOSTILE)
    assert HOSTILE in [
        part["text"] for message in as_json(turn_view(looked, 2))["messages"] for part in message["parts"]
    ]
