"""Sessions that other tools recorded: their model, their times, and what a recording does not say."""

from pathlib import Path

import pytest

import pageturn as pt
from pageturn.apps.inspector.bills import bills_of
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.inspector.views.page import page_view
from pageturn.apps.inspector.views.session import session_view
from pageturn.apps.inspector.views.session_list import SessionList
from pageturn.apps.inspector.views.turn import turn_view
from pageturn.apps.overview.facts import UNKNOWN_MODEL
from tests.apps.cli.command import run
from tests.sessions import open_session

SAMPLES = Path(__file__).parent.parent / "importing" / "samples"


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    file = tmp_path_factory.mktemp("recorded") / "agent.db"
    paths = [SAMPLES / name for name in ("claude_code.jsonl", "codex.jsonl", "swe_agent.traj", "opencode.json")]
    run("import", *paths, "--into", file)
    with Opened(Place(str(file))) as opened:
        yield opened


def test_the_model_is_the_one_that_the_provider_named_and_nobody_guesses_one(imported):
    inside = {row.inside.client: row.inside for row in SessionList().view(imported, lambda: True).sessions}
    assert set(inside) >= {"claude-code", "codex", "swe-agent", "opencode"}
    assert inside["claude-code"].model.startswith("claude-")
    assert inside["swe-agent"].model == UNKNOWN_MODEL
    assert inside["swe-agent"].dollars is None
    views = {view.client: view for view in (session_view(imported.session(row.id)) for row in imported.rows())}
    assert views["claude-code"].model == inside["claude-code"].model
    assert (views["swe-agent"].model, views["swe-agent"].price) == (UNKNOWN_MODEL, None)


def test_times_are_those_of_the_recording_and_not_of_the_import(imported):
    told = 0
    for row in imported.rows():
        looked = imported.session(row.id)
        view = session_view(looked)
        if view.client in ("claude-code", "codex", "opencode"):
            told += 1
            assert view.created < row.created_at // 1_000 - 86_400_000
            assert list(view.turns.at) == sorted(view.turns.at)
            assert page_view(looked, view.pages.handle[0]).at == view.created
            if view.turns.at:
                assert turn_view(looked, 1).at == view.turns.at[0]
    assert told >= 3


def test_a_recording_does_not_say_what_was_sent_and_the_turn_says_so(imported):
    for row in imported.rows():
        looked = imported.session(row.id)
        if looked.history.turns:
            assert "recording" in turn_view(looked, 1).flaw


def test_a_watched_session_was_sent_all_of_the_history(tmp_path):
    with open_session(tmp_path / "a.db", id="s") as session:
        session.append(pt.user("hello"))
        session.append(pt.assistant("I look.", metadata={"gateway": {"endpoint": "chat", "request_bytes": 100}}))
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        view = turn_view(opened.session("s"), 1)
    assert (view.flaw, view.total, view.client.sent_bytes) == ("", 1, None)


def test_a_client_that_compacts_does_not_make_everything_look_cheaper(tmp_path):
    """The provider's count of our tokens is learned while the client still sends all; what it drops later is no smaller token."""
    hidden, factor = 5_000, 2
    with open_session(tmp_path / "a.db", id="s", model="claude-sonnet-5") as session:
        said = 0
        for number in range(30):
            said += session.append(pt.user(f"step {number} " + "word " * 200)).tokens
            sent = said if number < 20 else said // 4
            usage = pt.Usage(input_tokens=hidden + factor * sent, output_tokens=1)
            said += session.append(pt.assistant("done"), usage).tokens
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        bills = bills_of(opened.session("s").history, 32_000)
    last = said - 1
    assert bills.everything[-1].input == pytest.approx(hidden + factor * last, rel=0.02)
    assert bills.sent[-1].input < bills.everything[-1].input / 2


def test_turns_of_another_model_are_billed_at_its_price(tmp_path):
    with open_session(tmp_path / "a.db", id="s", model="claude-sonnet-5") as session:
        for model in ("claude-opus-5", "claude-sonnet-5"):
            session.append(pt.user("go on"))
            session.append(pt.assistant("done"), pt.Usage(input_tokens=1_000, output_tokens=100, model=model))
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        bills = bills_of(opened.session("s").history, 32_000)
        (row,) = SessionList().view(opened, lambda: True).sessions
    opus, sonnet = (pt.values.model_prices.price_of(model) for model in ("claude-opus-5", "claude-sonnet-5"))
    usage = pt.Usage(input_tokens=1_000, output_tokens=100)
    expected = [opus.dollars(usage), sonnet.dollars(usage)]
    assert [sonnet.of_input(bill.cost) for bill in bills.sent] == pytest.approx(expected)
    assert row.inside.dollars == pytest.approx(sum(expected))
