"""Results of replays, as JSON lines."""

from pathlib import Path

import pytest

import pageturn as pt
from pageturn.lab.baselines import everything
from pageturn.lab.our_policies import Deriving
from pageturn.lab.replay import Recording
from pageturn.lab.results import Form, read_results, to_line
from pageturn.lab.sweep import Method, Setup, results
from pageturn.lab.synthetic_coding import coding_session

EXAMPLE = Path(__file__).with_name("example-results.jsonl")


def test_what_is_read_is_written_again_byte_for_byte(tmp_path):
    setup = Setup((Method.parse("paged"), Method.parse("keep-last")), (2_000,), lookahead=0)
    written = b"".join(results(coding_session(3, 20), setup))
    path = tmp_path / "results.jsonl"
    path.write_bytes(written)
    assert b"".join(map(to_line, read_results(path))) == written
    assert all(result.score.is_priced for result in read_results(path))


def test_lines_of_earlier_versions_are_still_read(tmp_path):
    """They tell nothing of what misses cost, and do not pretend to."""
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"".join(map(to_line, read_results(EXAMPLE))))
    assert list(read_results(path)) == list(read_results(EXAMPLE))
    assert not any(result.score.is_priced for result in read_results(EXAMPLE))


def test_every_line_is_of_something_else():
    results = list(read_results(EXAMPLE))
    assert len({result.key for result in results}) == len(results) == 3


def test_the_turns_of_a_result_add_up_to_its_score():
    for result in read_results(EXAMPLE):
        score, turns = result.score, result.turns
        assert score.billed == pytest.approx(sum(turn.billed for turn in turns))
        assert score.floor == pytest.approx(sum(turn.floor for turn in turns))
        assert score.refetched == pytest.approx(sum(turn.refetched for turn in turns))
        assert score.missed == sum(len(turn.missed) for turn in turns) > 0
        assert score.lines_shown == sum(turn.lines_shown for turn in turns)
        assert score.folds == sum(turn.folded for turn in turns) > 0
        assert score.largest == max(turn.tokens for turn in turns)
        assert all(turn.tokens == sum(turn.forms.values()) for turn in turns)
        assert not turns[0].folded


def test_every_turn_tells_what_sending_everything_would_have_cost():
    trace = coding_session(3, 30)
    replay = Recording(trace).replay(Deriving(pt.Paged(budget_tokens=3_000)))
    assert sum(turn.whole for turn in replay.turns) == pytest.approx(replay.score.whole)
    assert [turn.whole for turn in replay.turns] == [turn.billed for turn in Recording(trace).replay(everything).turns]


def test_the_turns_of_a_replay_add_up_to_what_its_misses_cost():
    score, turns = Recording(coding_session(11, 60)).replay(Deriving(pt.Paged(budget_tokens=3_000)))
    assert score.fetching == pytest.approx(sum(turn.fetching for turn in turns))
    assert score.fetching_once == pytest.approx(sum(turn.fetching_once for turn in turns))
    assert 0 < score.missing == sum(turn.misses for turn in turns) == sum(turn.fetching > 0 for turn in turns)
    assert score.judged == score.turns == len(turns)


def test_lines_from_before_turns_told_that_are_still_read():
    assert not any(turn.whole for result in read_results(EXAMPLE) for turn in result.turns)


def test_the_same_replay_gives_the_same_bytes():
    trace = coding_session(3, 30)

    def replayed():
        return pt.to_json(Recording(trace).replay(Deriving(pt.Paged(budget_tokens=3_000))).turns)

    assert replayed() == replayed()


def test_a_replay_tells_what_the_tokens_stand_as_and_which_faults_came():
    replay = Recording(coding_session(11, 60)).replay(Deriving(pt.Paged(budget_tokens=3_000)))
    forms = {form for turn in replay.turns for form in turn.forms}
    assert {Form.FULL, Form.STRUCTURED, Form.LINE} <= forms
    assert replay.faults["duplicate_tool"] == sum(turn.faults.get("duplicate_tool", 0) for turn in replay.turns) > 0


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(EXAMPLE.read_bytes().splitlines(keepends=True)[0] + b'{"trace": 1}\n')
    results = read_results(path)
    next(results)
    with pytest.raises(pt.InvalidInput, match=r"results\.jsonl:2"):
        next(results)
