"""A recorded session, replayed with something else that says what the model sees."""

import pytest

import pageturn as pt
from pageturn.lab.replay import Recording, Score
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace, text_of
from pageturn.values.messages import Native, ToolCall
from pageturn.values.vendors import VENDORS, Prices, Vendor


def characters(message):
    return len(text_of(message))


def call(**arguments):
    return pt.ToolCall(id="c", name="edit", arguments=pt.to_json(arguments).decode())


def of_size(letter, size):
    return pt.user(letter * size)


A, B, C, D = of_size("A", 10), of_size("B", 20), of_size("C", 5), of_size("D", 40)
ANSWER = pt.assistant("")


def recording(*messages, **options):
    return Recording(Trace("t", "s", messages), tokens=characters, **options)


def always(*requests):
    return lambda trace: requests


def everything(trace):
    return (trace.messages[:turn] for turn in trace.turns)


@pytest.fixture
def vector():
    """Three turns, which see A and B, then C too, then D too; the answers have no size."""
    return recording(A, B, ANSWER, C, ANSWER, D, ANSWER)


def test_the_bill_is_that_of_the_requests_relative_to_sending_everything(vector):
    score = vector.score(always([A, B], [A, B, C], [A, C]))
    assert score.billed == pytest.approx(54.0)
    # The empty answers stand between the messages, but take nothing from the common prefix.
    assert score.whole == pytest.approx(100.25)
    assert score.bill == pytest.approx(54.0 / 100.25)
    assert (score.turns, score.refused, score.largest) == (3, 0, 35)


def test_sending_everything_costs_one(vector):
    assert vector.score(everything).bill == 1


def test_messages_are_the_same_by_what_they_say(vector):
    again = of_size("A", 10)
    assert again is not A
    assert vector.score(always([A], [again], [again])).billed == pytest.approx(1.25 * 10 + 1 + 1)
    assert vector.score(always([A], [of_size("X", 10)], [A])).billed == pytest.approx(1.25 * 30)


def test_a_role_makes_another_message(vector):
    assert vector.score(always([A], [pt.system("A" * 10)], [A])).billed == pytest.approx(1.25 * 30)


def test_a_message_that_grows_by_a_block_is_read_up_to_it(vector):
    """Blocks of one message: A10, then B20 behind it, then C5; a block before the others is a new beginning."""
    ab, abc = pt.user("A" * 10, "B" * 20), pt.user("A" * 10, "B" * 20, "C" * 5)
    # One character more for each further part, since parts are told one below the other.
    assert vector.score(always([A], [ab], [abc])).billed == pytest.approx(
        1.25 * 10 + (0.1 * 10 + 1.25 * 21) + (0.1 * 31 + 1.25 * 6)
    )
    cb = pt.user("C" * 5, "B" * 20)
    assert vector.score(always([ab], [cb], [ab])).billed == pytest.approx(1.25 * (31 + 26 + 31))
    a_changed = pt.user("A" * 10, "X" * 20)
    assert vector.score(always([ab], [a_changed], [a_changed])).billed == pytest.approx(
        1.25 * 31 + (0.1 * 10 + 1.25 * 21) + 0.1 * 31
    )


def test_growing_is_no_fold_and_losing_a_block_is_one(vector):
    ab = pt.user("A" * 10, "B" * 20)
    grown = vector.replay(always([A], [ab], [ab, C]))
    assert [turn.folded for turn in grown.turns] == [False, False, False]
    assert [turn.folded for turn in vector.replay(always([ab], [A, C], [A])).turns] == [False, True, True]


def test_a_call_and_a_result_are_blocks(vector):
    first, second = (pt.ToolCall(id=id, name="read", arguments="{}") for id in "12")
    results = [pt.tool_result(one, "R" * 10) for one in (first, second)]
    alone, both = pt.assistant("n", first), pt.assistant("n", first, second)
    score = vector.score(always([alone], [both, results[0]], [both, *results]))
    said, more = characters(alone), characters(both) - characters(alone)
    assert score.billed == pytest.approx(
        1.25 * said + (0.1 * said + 1.25 * (more + 10)) + (0.1 * (said + more + 10) + 1.25 * 10)
    )


def test_neighbours_of_one_role_may_be_one_message(vector):
    """As formats write them: nothing of the prefix is lost where two messages become one."""
    joined = pt.user("A" * 10, "B" * 20)
    assert vector.score(always([A, B], [joined], [A, B])).billed == pytest.approx(1.25 * 30 + 0.1 * 31 + 0.1 * 30)
    assert not any(turn.folded for turn in vector.replay(always([A, B], [joined], [A, B, C])).turns)


def test_a_vendors_own_items_are_compared_too(vector):
    own, same = (pt.user(Native(vendor="v", item={"a": [1]}, text="N" * 10)) for _ in range(2))
    other = pt.user(Native(vendor="v", item={"a": [2]}, text="N" * 10))
    assert vector.score(always([own], [same], [other])).billed == pytest.approx(1.25 * 10 + 1 + 1.25 * 10)


def test_other_prices_are_the_vendors():
    score = recording(A, ANSWER, ANSWER, prices=Prices(read=0.5, write=1.0)).score(everything)
    assert score.billed == score.whole == pytest.approx(10 + 5)


def test_the_floor_writes_once_what_is_sent_and_reads_the_opening():
    score = recording(pt.system("S" * 8), B, ANSWER, C, ANSWER, D).score(everything)
    assert score.floor == pytest.approx(1.25 * (8 + 20 + 5) + 0.1 * 8)
    assert score.over_floor == pytest.approx((1.25 * 28 + 0.1 * 28 + 1.25 * 5) / score.floor)


def test_coverage_is_of_what_was_said_before():
    first, second = pt.user("see src/app/main.py"), pt.user("and the other_thing_1")
    turn = pt.assistant(call(a="src/app/main.py", b="other_thing_1", c="never_said_2"))
    score = recording(first, second, turn).score(always([second]))
    assert (score.demanded, score.covered, score.coverage) == (2, 1, 0.5)


def test_a_missed_name_is_fetched_from_the_latest_page_that_held_it():
    early, late = pt.user("see src/app/main.py and other_thing_1"), pt.user("src/app/main.py")
    turn = pt.assistant(call(a="src/app/main.py", b="other_thing_1"))
    messages = (early, late, C, turn)
    nothing = recording(*messages).score(always([C]))
    both = 1.25 * (characters(early) + characters(late)) + 2 * 0.1 * 5
    assert nothing.refetched == pytest.approx(both)
    assert nothing.bill_with_refetches == pytest.approx((1.25 * 5 + both) / nothing.whole)
    partly = recording(*messages).score(always([late]))
    assert partly.refetched == pytest.approx(1.25 * characters(early) + 0.1 * characters(late))


def test_a_page_is_fetched_once_for_all_its_names():
    page = pt.user("see src/app/main.py and other_thing_1")
    turn = pt.assistant(call(a="src/app/main.py", b="other_thing_1"))
    score = recording(page, C, turn).score(always([C]))
    assert score.refetched == pytest.approx(1.25 * characters(page) + 0.1 * 5)


def test_a_page_that_is_missed_at_two_turns_is_fetched_twice():
    page, turn = pt.user("see src/app/main.py"), pt.assistant(call(a="src/app/main.py"))
    score = recording(page, turn, turn).score(always([C], [C]))
    # At the second turn it is the first call that held the name last.
    assert score.refetched == pytest.approx(1.25 * (characters(page) + characters(turn)) + 2 * 0.1 * 5)


# -- the priced bill


def edit(old, **arguments):
    return pt.assistant(call(old_string=old, **arguments))


def test_a_turn_that_misses_pays_one_call_that_brings_all_of_it_back():
    early, late = pt.user("see src/app/main.py and other_thing_1"), pt.user("src/app/main.py")
    turn = pt.assistant(call(a="src/app/main.py", b="other_thing_1"))
    score = recording(early, late, C, turn, turn).score(always([C], [early]))
    # The second turn sees both names; at the first, both pages come with one call over a request of 5.
    extra = 1.25 * (characters(early) + characters(late)) + 0.1 * 5 + 5 * 60
    assert (score.fetching, score.missing, score.judged) == (pytest.approx(extra), 1, 2)
    assert score.priced() == pytest.approx((score.billed + extra) / score.whole)
    assert score.priced(2_000) == pytest.approx((score.billed + extra + 2_000) / score.whole)
    assert score.share_missing == 0.5


def test_a_line_that_is_quoted_and_missed_is_fetched_from_the_latest_page_that_held_it():
    early = pt.tool_result("r", "   1→def is_expired(token):\n   2→    return True if now else False")
    late = pt.tool_result("s", "7|def is_expired(token):")
    messages = (early, late, C, edit("def is_expired(token):\n    return True if now else False"))
    score = recording(*messages).score(always([C]))
    assert (score.demanded, score.covered) == (1, 0)  # is_expired, which the latest page held
    assert score.fetching == pytest.approx(1.25 * (characters(early) + characters(late)) + 0.1 * 5 + 5 * 60)
    only_name = recording(*messages).score(always([pt.user("is_expired")]))
    assert (only_name.missing, only_name.refetched) == (1, 0)  # the old measure asks for names alone
    assert only_name.fetching == pytest.approx(1.25 * (characters(early) + characters(late)) + 0.1 * 10 + 5 * 60)
    assert recording(*messages).score(always([early])).missing == 0


@pytest.mark.parametrize("column", ["12\t", "  12→", "12|", "12:", "   12: "])
def test_a_column_of_numbers_is_no_part_of_a_line(column):
    shown = pt.tool_result("r", f"{column}def is_expired(token):")
    score = recording(shown, edit("def is_expired(token):")).score(always([shown]))
    assert (score.lines_wanted, score.lines_shown, score.missing) == (1, 1, 0)


def test_no_more_of_a_page_is_paid_for_than_is_read_at_once():
    large = pt.user("see src/app/main.py " + "x" * 20_000)
    score = recording(large, C, pt.assistant(call(a="src/app/main.py"))).score(always([C]))
    assert score.fetching == pytest.approx(1.25 * 8_000 + 0.1 * 5 + 5 * 60)


def test_sending_everything_misses_nothing():
    score = Recording(coding_session(5, 40)).score(everything)
    assert score.lines_wanted > 0
    assert (score.missing, score.fetching, score.priced(20_000)) == (0, 0, 1)


def test_what_was_fetched_again_may_count_once_until_the_next_fold():
    page = pt.user("see first_name_1, second_name_2 and third_name_3")
    turns = [pt.assistant(call(a=name)) for name in ("first_name_1", "second_name_2", "third_name_3")]
    replay = recording(page, *turns).replay(always([C], [C, A], [D]))  # the last one is a fold
    price = [1.25 * characters(page) + 0.1 * tokens + 300 for tokens in (5, 15, 40)]
    assert [turn.fetching for turn in replay.turns] == pytest.approx(price)
    assert [turn.fetching_once for turn in replay.turns] == pytest.approx([price[0], 0, price[2]])
    assert replay.score.priced_once < replay.score.priced()


def test_lines_must_stand_as_lines():
    shown = pt.tool_result("r", "   1→def is_expired(token):\n   2→    return token['exp'] < now()")
    edit = pt.assistant(call(old_string="def is_expired(token):\n    return token['exp'] < now()"))
    numbered = recording(shown, edit).score(always([shown]))
    assert (numbered.lines_wanted, numbered.lines_shown, numbered.verbatim_coverage) == (2, 2, 1)
    within = pt.user("it says def is_expired(token): somewhere\nreturn token['exp'] < now()")
    assert recording(shown, edit).score(always([within])).verbatim_coverage == 0.5


def test_a_refused_turn_misses_everything_and_is_not_billed():
    page, turn = pt.user("see src/app/main.py"), pt.assistant(call(a="src/app/main.py"))
    score = recording(page, turn, turn).score(always([page], None))
    assert (score.turns, score.refused, score.demanded, score.covered) == (2, 1, 2, 1)
    assert score.billed == pytest.approx(1.25 * characters(page))
    assert score.refetched == pytest.approx(1.25 * characters(turn))


def test_the_cache_outlives_a_refused_turn(vector):
    assert vector.score(always([A], None, [A])).billed == pytest.approx(1.25 * 10 + 1)


@pytest.mark.parametrize("requests", [[[A], [A]], [[A], [A], [A], [A]]])
def test_every_turn_has_one_request(vector, requests):
    with pytest.raises(ValueError, match="argument 2 is"):
        vector.score(always(*requests))


def test_scores_are_pooled():
    one = Score(billed=1, whole=2, floor=1, demanded=1, covered=1, lines_wanted=4, lines_shown=1, turns=1, largest=7)
    other = Score(billed=8, whole=16, floor=3, demanded=9, covered=4, refetched=9, turns=2, refused=1, largest=5)
    pooled = one + other
    assert pooled == sum([one, other], Score())
    assert (pooled.bill, pooled.coverage, pooled.verbatim_coverage) == (0.5, 0.5, 0.25)
    assert (pooled.bill_with_refetches, pooled.over_floor) == (1.0, 2.25)
    assert (pooled.turns, pooled.refused, pooled.largest) == (3, 1, 7)


def test_of_nothing_everything_is_shown():
    assert Score().coverage == Score().verbatim_coverage == 1


def test_a_session_without_turns_comes_to_nothing():
    assert recording(A).score(everything) == Score()


MARKED = Vendor("marked", breakpoints=4, lookback_blocks=3)


def test_the_end_of_the_last_request_is_found_within_so_many_blocks():
    near = [pt.user("n")] * 3
    far = [pt.user("n")] * 4
    for added, hit in ((near, 10), (far, 0)):
        score = recording(A, ANSWER, *added, ANSWER, vendor=MARKED).score(always([A], [A, *added]))
        assert score.billed == pytest.approx(1.25 * 10 + 0.1 * hit + 1.25 * (10 - hit + len(added)))


def test_blocks_are_the_parts_of_a_message():
    many = pt.user("a", "b", "c", "d")
    score = recording(A, ANSWER, many, ANSWER, vendor=MARKED).score(always([A], [A, many]))
    assert score.billed == pytest.approx(1.25 * 10 + 1.25 * (10 + characters(many)))


def test_the_end_of_the_last_request_may_be_within_a_message():
    grown = pt.user("A" * 10, "n")
    score = recording(A, ANSWER, pt.user("n"), ANSWER, vendor=MARKED).score(always([A], [grown]))
    assert score.billed == pytest.approx(1.25 * 10 + 0.1 * 10 + 1.25 * 2)


def test_the_opening_is_found_by_its_own_mark():
    opening = pt.system("S" * 8)
    far = [pt.user("n")] * 9
    score = recording(opening, A, ANSWER, *far, ANSWER, vendor=MARKED).score(always([opening, A], [opening, A, *far]))
    assert score.billed == pytest.approx(1.25 * 18 + 0.1 * 8 + 1.25 * 19)


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=list(VENDORS))
def test_sending_everything_costs_one_at_every_vendor(vendor):
    many = [ToolCall(id=f"c{n}", name="f", arguments="{}") for n in range(30)]
    batch = [pt.assistant(*many), *(pt.tool_result(call, "R" * 100) for call in many)]
    trace = coding_session(2, 20)
    longer = trace._replace(messages=(*trace.messages, *batch, ANSWER), times=(*trace.times, *[trace.times[-1]] * 32))
    replay = Recording(longer, tokens=characters, vendor=vendor).replay(everything)
    assert replay.score.bill == pytest.approx(1)
    assert [turn.whole for turn in replay.turns] == [turn.billed for turn in replay.turns]


def test_nobody_is_told_of_a_silence_that_the_bill_knows_nothing_of():
    trace = Trace("t", "s", (A, ANSWER, B, ANSWER), times=(0.0, 1.0, 1_000.0, 1_001.0))
    told = []

    def shows(trace):
        told.append(trace.times)
        return everything(trace)

    Recording(trace).score(shows)
    Recording(trace, vendor=VENDORS["anthropic-5m"]).score(shows)
    assert told == [(), trace.times]


def test_the_studys_tokens_are_the_default():
    assert Recording(Trace("t", "s", (D, ANSWER))).score(everything).largest == 10
