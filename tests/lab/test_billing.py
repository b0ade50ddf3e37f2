"""The bill, by its published vectors."""

import pytest

import pageturn as pt
from pageturn.lab.billing import Sent, bill, blocks_of, cached, fetching, floor, refetches
from pageturn.lab.traces import estimated_tokens
from pageturn.tokens.counters import counter_for
from pageturn.values.messages import Thinking
from pageturn.values.vendors import IDEAL_CACHE, VENDORS, Prices

A, B, C, D = Sent("A", 10), Sent("B", 20), Sent("C", 5), Sent("D", 40)


def test_a_message_that_leaves_the_middle_costs_what_comes_after_it():
    assert bill([[A, B], [A, B, C], [A, C]]) == pytest.approx(54.0)


def test_a_history_that_only_grows_is_mostly_read():
    assert bill([[A, B], [A, B, C], [A, B, C, D]]) == pytest.approx(100.25)


def test_the_common_prefix_is_of_whole_blocks():
    assert cached([A, B, C], [A, B, D]) == 30
    assert cached([A, B], [B, A]) == 0


def test_the_tokens_of_a_block_are_those_of_the_request_that_is_billed():
    assert cached([Sent("A", 10)], [Sent("A", 11)]) == 10


def message():
    call = pt.ToolCall(id="c", name="read", arguments='{"path": "src/app/main.py"}')
    return pt.assistant("Let me see.", Thinking(text="There may be more than one."), call)


@pytest.mark.parametrize(
    "tokens", [estimated_tokens, counter_for("gpt-5").message, counter_for("claude-sonnet-4").message]
)
def test_the_blocks_of_a_message_are_its_parts_and_sum_up_to_it(tokens):
    blocks = list(blocks_of(message(), tokens))
    assert [block.part for block, _ in blocks] == list(message().content)
    assert sum(count for _, count in blocks) == tokens(message())
    assert all(count > 0 for _, count in blocks)
    (empty,) = blocks_of(pt.assistant(), tokens)
    assert empty == (("assistant", None), tokens(pt.assistant()))


def test_a_cold_cache_is_written_anew():
    assert bill([[A, B], [A, B, C]], cold=[1]) == pytest.approx(1.25 * 30 + 1.25 * 35)


def test_other_vendors_have_other_prices():
    assert bill([[A], [A]], Prices(read=0.5, write=1.0)) == pytest.approx(10 + 5)


def test_a_vendor_keeps_prefixes_from_a_least_length_on_and_in_steps():
    openai = VENDORS["openai"]
    assert [openai.kept(tokens) for tokens in (0, 1_023, 1_024, 1_151, 1_152, 5_000)] == [
        0,
        0,
        1_024,
        1_024,
        1_152,
        4_992,
    ]
    assert [VENDORS["anthropic-5m"].kept(tokens) for tokens in (1_023, 1_025)] == [0, 1_025]
    assert [IDEAL_CACHE.kept(tokens) for tokens in (0, 1, 1_023)] == [0, 1, 1_023]


def test_the_floor_writes_every_token_once_and_reads_the_opening():
    assert floor(100, 10, 5) == pytest.approx(125 + 0.1 * 10 * 4)
    assert floor(0, 10, 0) == 0


def test_a_refetch_costs_the_page_and_one_more_call():
    assert refetches([40, 20], 100) == pytest.approx(1.25 * 60 + 2 * 10)


def test_one_call_brings_back_all_that_a_turn_misses_and_no_more_of_a_page_than_is_read_at_once():
    assert fetching([40, 20], 100) == pytest.approx(1.25 * 60 + 0.1 * 100 + 5 * 60)
    assert fetching([8_001, 20_000], 100) == pytest.approx(1.25 * 16_000 + 0.1 * 100 + 5 * 60)
    openai = VENDORS["openai"]
    assert fetching([40], 100, openai) == pytest.approx(1.0 * 40 + 0.1 * 100 + 8 * 60)
