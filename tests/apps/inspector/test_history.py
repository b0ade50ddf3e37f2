"""The history of a session says of every page what the journal's own state said after each turn."""

import pytest

import pageturn as pt
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.values.pages import ResidencyLevel
from tests.apps.inspector.stores import agent, work
from tests.sessions import open_session


@pytest.mark.parametrize("recall", [pt.RecallTool(), None])
def test_levels_over_the_turns_are_those_that_the_state_had_then(tmp_path, recall):
    agent(tmp_path / "a.db", turns=40, recall=recall)
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        looked = opened.session("login-bug")
        seen = set()
        for taken in looked.history.turns:
            state = looked.reader.state(taken.seq)
            for page in state.live_pages():
                if page.seq <= taken.shown.upto:
                    move = looked.history.level_at(page.seq, taken.number)
                    assert move.level in (state.level_of(page), None)
                    if move.level is None:  # without the recall tool nothing points to it
                        assert recall is None
                        assert state.level_of(page) is ResidencyLevel.POINTER
                    seen.add(move.level)
        assert {ResidencyLevel.FULL, ResidencyLevel.STRUCTURED, ResidencyLevel.POINTER} <= seen | (
            {ResidencyLevel.POINTER} if recall is None else set()
        )
        assert len(looked.journal.state.folds) >= 3


def test_a_history_that_is_followed_is_the_one_that_is_made_anew(tmp_path):
    file = str(tmp_path / "a.db")
    with (
        open_session(file, id="login-bug", policy=pt.Paged(budget_tokens=4_000)) as session,
        Opened(Place(file)) as opened,
    ):
        session.append(pt.user("Mend the login."))
        assert opened.session("login-bug").history.turns == []
        for round_ in range(6):
            work(session, 5, first=5 * round_)
            followed = opened.session("login-bug").history
        with Opened(Place(file)) as anew:
            fresh = anew.session("login-bug").history
            assert (followed.turns, followed.moves, followed.events) == (fresh.turns, fresh.moves, fresh.events)
        assert len(followed.turns) == 30


def test_undone_and_erased_pages_stand_nowhere_from_then_on(opened):
    looked = opened.session("hostile")
    pages = looked.reader.pages(uncounted=True)
    gone = [page for page in pages if page.undone or page.erased]
    assert len(gone) == 3
    for page in gone:
        moves = looked.history.moves.get(page.seq, [])
        assert not moves or moves[-1].level is None
    assert {each.kind for each in looked.history.events} >= {"undo", "erase"}


@pytest.mark.parametrize("turns", [4, 14])
def test_what_a_reset_covers_stands_nowhere_from_the_fold_on(tmp_path, turns):
    with open_session(tmp_path / "a.db", id="s", recall=None, policy=pt.Paged(budget_tokens=3_000)) as session:
        session.append(pt.user("Mend the login."))
        work(session, turns)
        session.reset("The login was looked at, and all parts are read.", force=True)
        work(session, 2, first=turns)
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        looked = opened.session("s")
        (reset,) = looked.reader.resets
        covered = [page for page in looked.reader.pages() if page.seq < reset and page.results]
        moves = [looked.history.moves[page.seq] for page in covered]
        folds = looked.journal.state.folds
    assert len(covered) == turns
    assert {each[-1].level for each in moves} == {None}
    assert max(each[-1].turn for each in moves) == turns + 1 == folds[-1]
    assert any(each[0].level is ResidencyLevel.FULL and len(each) > 2 for each in moves) is (turns > 4)
