"""What others published has the same shape here: the order of the rows, and on which side of sending everything they are."""

from itertools import pairwise
from statistics import median

import pytest

from pageturn.lab.published_results import ROLLING, ablation, policies, shortened
from pageturn.lab.synthetic_coding import coding_session

SEEDS = (1, 2)


def test_clawvms_policies_come_in_the_published_order():
    rows = policies(SEEDS)
    compared = [row for row in rows if row.published is not None]
    for above, below in pairwise(compared):
        assert (above.published > below.published) == (above.ours > below.ours)
        assert (above.published_thrash > below.published_thrash) == (above.thrash > below.thrash)
    assert [row.name for row in rows if row.ours == 0] == ["clawvm", "lru", "oracle_h3", "paged"]


def test_clawvms_parts_come_in_the_published_order():
    rows = ablation(SEEDS)
    assert len(rows) == 6
    for above, below in pairwise(rows):
        assert above.published >= below.published
        assert (above.published > below.published) == (above.ours > below.ours)
    most = rows[0]
    assert most.ours > 0.5 * sum(row.ours for row in rows), "pointers are most of it"


@pytest.fixture(scope="module")
def rows():
    return {row.name: row for row in shortened([coding_session(seed, 110) for seed in (1, 2)], 16_000)}


def test_without_a_cache_masks_and_summaries_cost_about_as_much_and_half_of_everything(rows):
    mask, summary = rows["masking"].uncached_cost, rows["summary"].uncached_cost
    assert 0.5 < mask / summary < 2
    assert max(mask, summary) < 0.6
    assert rows["hybrid"].uncached_cost < min(mask, summary)
    assert all(row.uncached_cost < 1 for row in rows.values() if row.name != "everything")


def test_published_dollars_are_those_of_the_model_in_the_middle(rows):
    whole = (0.415, 0.556, 1.288, 1.117, 0.513)
    dollars = {"masking": (0.177, 0.242, 0.610, 0.554, 0.462), "summary": (0.242, 0.252, 0.637, 0.500, 0.510)}
    for name, spent in dollars.items():
        shares = (part / all_ for part, all_ in zip(spent, whole, strict=True))
        assert rows[name].published.trap == round(median(shares), 2)


def test_masks_cover_as_much_as_summaries(rows):
    assert rows["masking"].score.coverage == pytest.approx(rows["summary"].score.coverage, abs=0.05)
    assert rows["masking"].score.verbatim_coverage == pytest.approx(rows["summary"].score.verbatim_coverage, abs=0.1)


def test_with_a_cache_rolling_edits_lose_what_they_save(rows):
    assert rows["keep-last"].score.bill > 1
    for name in ("keep-last", "masking", "hybrid"):
        assert rows[name].score.bill > 2 * rows["summary"].score.bill
        assert rows[name].cached < rows["summary"].cached < rows["everything"].cached
    assert rows["masking, 10 at once"].score.bill < 0.6 * rows["masking"].score.bill


def test_where_only_marked_ends_are_found_every_rolling_edit_costs_more_than_everything(rows):
    for name in ROLLING:
        assert rows[name].marked.bill > min(1, rows[name].score.bill)
        assert rows[name].marked.bill > 2 * rows["paged"].marked.bill
    assert rows["stubs"].marked.bill > 1 > rows["stubs"].score.bill


def test_our_policies_cost_less_than_everything_however_it_is_billed(rows):
    for name in ("legacy", "reset", "paged"):
        row = rows[name]
        assert max(row.uncached_cost, row.score.bill_with_refetches, row.marked.bill) < 1
    others = [row.score for row in rows.values() if row.name not in ("everything", "paged")]
    assert rows["paged"].score.coverage > max(score.coverage for score in others) - 0.02
    cheapest = min(others, key=lambda score: score.priced())
    assert rows["paged"].score.priced() < 1.01 * cheapest.priced()


def test_for_each_unique_eviction_there_are_far_more_faults_than_for_each_request(rows):
    for row in rows.values():
        if row.name != "everything":
            assert row.evictions.rate > 20 * row.evictions.rate_of_requests > 0
    assert rows["stubs"].evictions.in_need == max(row.evictions.in_need for row in rows.values())
    published = [row for row in rows.values() if row.name != "paged"]
    assert rows["stubs"].evictions.unique == max(row.evictions.unique for row in published)
