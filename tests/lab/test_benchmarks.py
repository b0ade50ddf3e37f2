"""What two benchmarks work out beside the lab: which human words fit, and what counts as worse."""

import msgspec
import pytest

import pageturn as pt
from benchmarks.human_words import human_tokens, quantile, room_of, split
from benchmarks.regression import MEASURES, common, pooled, table_of
from pageturn.lab.results import Result, Score
from pageturn.lab.traces import Trace
from pageturn.values.messages import ToolResult


def test_the_longest_words_give_way_first():
    assert split([100, 2_500, 300, 1_500], 2_000) == (1_900, 2_500, 1)
    assert split([100, 2_500, 300, 1_500], 1_899) == (400, 4_000, 2)
    assert split([], 2_000) == (0, 0, 0)
    assert [room_of(budget) for budget in (8_000, 16_000, 64_000)] == [2_000, 4_000, 4_000]


def test_only_what_a_person_wrote_is_human():
    messages = (
        pt.system("rules " * 9),
        pt.user("do it, please"),
        pt.user("<reminder>", synthetic=True),
        pt.Message(role="user", content=(ToolResult(tool_call_id="c", content="a result"),)),
        pt.assistant("done"),
    )
    assert human_tokens(Trace("t", "s", messages)) == [3]


def test_a_quantile_is_one_of_the_values():
    assert [quantile([4, 1, 3, 2], share) for share in (0.5, 0.9, 1.0)] == [2, 4, 4]


def result(trace="t", *, billed=1.0, covered=100, faults=0):
    score = Score(billed=billed, whole=1.0, demanded=100, covered=covered, turns=1, judged=1)
    return Result(
        trace, "s", "paged", 16_000, "chars/4", "ideal-cache", score, {"policy": "paged"}, {"refetch": faults}
    )


@pytest.mark.parametrize(
    ("change", "worse"),
    [
        ({}, 0),
        ({"billed": 1.04}, 0),
        ({"billed": 1.06}, 2),  # the priced bill, too
        ({"billed": 0.5}, 0),
        ({"covered": 94}, 1),
        ({"covered": 96}, 0),
        ({"faults": 1}, 1),
    ],
)
def test_worse_is_what_is_worse_by_more_than_five_percent(change, worse):
    table, found = table_of(pooled([result(**change)]), pooled([result()]))
    assert (table.row_count, found) == (1, worse)


def test_only_sessions_that_both_have_are_compared():
    ours, theirs = common([result("a"), result("b", billed=9.0)], [result("a"), result("c")])
    assert [one.trace for one in (*ours, *theirs)] == ["a", "a"]
    assert table_of(pooled(ours), pooled(theirs))[1] == 0
    alone = msgspec.structs.replace(result(), policy="reset")
    assert table_of(pooled([alone]), pooled(theirs))[1] == 0
    assert MEASURES["priced bill"].of(pooled([result(billed=0.25)])["s", 16_000, "paged"]) == 0.25
