"""What others do to keep a session within a budget."""

from itertools import pairwise

import pytest

import pageturn as pt
from pageturn.lab.baselines import cut, keep_last, masking, prototype
from pageturn.lab.replay import Recording
from pageturn.lab.traces import Trace, estimated_tokens, text_of


def said(letter, tokens):
    return pt.user(letter * 4 * tokens)


def answered(letter, tokens):
    return pt.assistant(letter * 4 * tokens)


def trace(*messages):
    return Trace("t", "s", messages)


def letters(request):
    return "".join(text_of(message)[:1] for message in request)


S = pt.system("S" * 40)
GROWING = trace(S, said("a", 10), answered("b", 10), said("c", 10), answered("d", 10), said("e", 10), answered("f", 10))


def test_keep_last_slides_at_every_turn():
    assert [letters(seen) for seen in keep_last(30)(GROWING)] == ["Sa", "Sbc", "Sde"]
    assert [letters(seen) for seen in keep_last(40)(GROWING)] == ["Sa", "Sabc", "Scde"]


def test_keep_last_stops_at_the_first_that_does_not_fit():
    hole = trace(said("a", 1), said("b", 50), said("c", 1), answered("d", 1))
    assert [letters(seen) for seen in keep_last(30)(hole)] == ["c"]


def test_the_newest_message_stays_whatever_its_size():
    large = trace(S, said("a", 10), said("b", 50), answered("c", 1))
    assert [letters(seen) for seen in keep_last(30)(large)] == ["Sb"]


def test_a_cut_goes_down_to_the_low_watermark_and_grows_again():
    assert [letters(seen) for seen in cut(40, 0.75)(GROWING)] == ["Sa", "Sabc", "Sde"]
    assert [letters(seen) for seen in cut(39, 0.8)(GROWING)] == ["Sa", "Sbc", "Sde"]
    longer = trace(*GROWING.messages, said("g", 1), answered("h", 1))
    assert [letters(seen) for seen in cut(40, 0.75)(longer)] == ["Sa", "Sabc", "Sde", "Sfg"]
    assert [letters(seen) for seen in cut(45, 0.5)(longer)] == ["Sa", "Sabc", "Se", "Sefg"]


def result(number):
    return pt.tool_result(f"r{number}", f"{number} " * 20)


def test_masking_hides_all_but_the_last_results():
    turns = [message for number in range(3) for message in (answered("b", 1), result(number))]
    *_, last = masking(1)(trace(*turns, answered("z", 1)))
    assert [text_of(message)[:16] for message in last[1::2]] == ["[output omitted]"] * 2 + ["2 2 2 2 2 2 2 2 "]
    assert last[1].tool_results[0].tool_call_id == "r0"
    *_, none = masking(0)(trace(*turns, answered("z", 1)))
    assert {text_of(message) for message in none[1::2]} == {"[output omitted]"}


def test_masking_leaves_earlier_requests_alone():
    turns = [message for number in range(3) for message in (answered("b", 1), result(number))]
    first, second, third = masking(1)(trace(*turns))
    assert not first
    assert text_of(second[1]) == text_of(result(0))
    assert text_of(third[1]) == "[output omitted]"


def page(number, names="", tokens=300):
    head = f"page number {number} begins with a sentence that is rather longer than eighty characters are, "
    return pt.tool_result(f"c{number}", (head + names + " word" * tokens * 4)[: tokens * 4])


def long_session(*pages):
    steps = [message for one in pages for message in (answered("b", 1), one)]
    return trace(S, pt.user("T" * 40), *steps, answered("z", 1))


NAMED = [page(number, f"known_everywhere only_on_page_{number}") for number in range(8)]


def test_a_sketch_shows_everything_within_the_budget():
    session = long_session(*NAMED)
    *_, last = prototype(session.tokens, 0.5)(session)
    assert last == list(session.messages[:-1])


def test_a_fold_keeps_the_names_that_each_page_brought():
    session = long_session(*NAMED)
    *_, last = prototype(1_500, 0.6)(session)
    texts = [text_of(message) for message in last]
    context = "\n".join(texts)
    assert all(f"only_on_page_{number}" in context for number in range(8))
    second = next(text for text in texts if "only_on_page_1" in text)
    assert len(second) < 250
    assert "known_everywhere" not in second


def test_a_fold_leaves_the_opening_the_task_and_the_tail_whole():
    session = long_session(*NAMED)
    *_, last = prototype(1_500, 0.6)(session)
    for message in (S, pt.user("T" * 40), *session.messages[-3:-1]):
        assert message in last
    assert session.messages[3] not in last


def test_a_fold_comes_down_to_the_low_watermark():
    session = long_session(*NAMED)
    sizes = [sum(map(estimated_tokens, seen)) for seen in prototype(1_500, 0.6)(session)]
    folds = [size for before, size in pairwise(sizes) if size < before]
    assert folds
    assert all(size <= 900 for size in folds)
    assert max(sizes) <= 1_500


def test_the_prefix_is_frozen_between_folds():
    session = long_session(*NAMED)
    requests = list(prototype(1_500, 0.6)(session))
    grown = [later[: len(one)] == one for one, later in pairwise(requests)]
    assert 0 < grown.count(False) < 4


def test_the_list_of_names_has_a_cap():
    session = long_session(page(0, " ".join(f"some_name_{number}" for number in range(60)), tokens=600), *NAMED[1:])

    def names_left(cap):
        *_, last = prototype(1_500, 0.6, cap_tokens=cap)(session)
        return "\n".join(map(text_of, last)).count("some_name_")

    assert 5 < names_left(40) < 15 < names_left(250)


def test_the_oldest_pointers_drop_out():
    session = long_session(*[page(number) for number in range(60)])
    *_, last = prototype(1_500, 0.6)(session)
    context = "\n".join(map(text_of, last))
    assert "page number 58" in context
    assert "page number 0 " not in context


def test_a_page_whose_pointer_drops_out_can_still_be_shown_for_its_names():
    session = long_session(page(0, "very_rare_name and another_rare_one"), *[page(number) for number in range(1, 60)])
    *_, last = prototype(1_500, 0.6)(session)
    context = "\n".join(map(text_of, last))
    assert "very_rare_name" in context
    assert "page number 1 " not in context


def test_without_room_only_what_stays_whole_is_left():
    session = trace(pt.system("S" * 4_000), *long_session(*NAMED).messages)
    *_, last = prototype(1_500, 0.5)(session)
    assert letters(last) == "SSTbp"


@pytest.mark.parametrize("shows", [keep_last(900), cut(900, 0.4), masking(2), prototype(900, 0.4)])
def test_every_turn_is_shown(shows):
    session = long_session(*NAMED)
    assert Recording(session).score(shows).turns == len(session.turns)
