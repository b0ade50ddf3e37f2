"""Passages: together they are the text, each is of a size to be read, and words stay whole."""

from hypothesis import given
from hypothesis import strategies as st

from pageturn.values.passages import MOST_PASSAGES, passage_at, passages_of

texts = st.lists(
    st.sampled_from(["word", " ", "\n", "\n\n", ". ", "x" * 90, "snake_case", "漢字", ","]), max_size=200
).map("".join)

ENDS = [497, 830, 1325, 1652, 1982, 2438]


@given(texts)
def test_passages_are_the_text_without_gaps(text):
    found = [*passages_of(text)]
    assert "".join(text[start:end] for start, end in found) == text
    assert all(end > start for start, end in found)
    assert all(end - start <= 575 for start, end in found)
    assert all(end - start >= 75 for start, end in found[:-1])
    assert all(passage_at(text, at) == cut for at, cut in enumerate(found))


def test_a_passage_ends_with_a_paragraph_rather_than_anywhere():
    paragraph = "a sentence of some words. " * 12
    text = f"{paragraph}\n\n{paragraph}\n\n{paragraph}"
    assert [text[start:end].strip() for start, end in passages_of(text)] == [paragraph.strip()] * 3


def test_no_word_is_cut_where_there_is_any_other_place():
    text = ",".join(f"word{number}" for number in range(2_000))
    assert all(text[end - 1] == "," or text[end] == "," for _, end in [*passages_of(text)][:-1])


def test_a_very_long_text_has_longer_passages_and_not_more():
    text = "some words and a number 12345 in a line\n" * 150_000
    found = [*passages_of(text)]
    assert len(found) <= MOST_PASSAGES
    assert found[-1].end == len(text)


def test_where_a_text_is_cut_never_changes():
    """A document is taken out of the index by cutting it once more, perhaps by a later version."""
    text = "".join(
        f"Line {number} says {'so ' * (number % 9)}much. And more!\n{'' if number % 4 else chr(10)}"
        for number in range(60)
    )
    assert [end for _, end in passages_of(text)] == ENDS
