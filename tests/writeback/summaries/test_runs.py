"""Which runs are summarized ahead: aligned, bounded, whole, and never over what may not be covered."""

from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.tokens.counters import counter_for
from pageturn.values.units import entangled, unanswered, units_of
from pageturn.writeback.summaries.cutting import cut
from pageturn.writeback.summaries.runs import Run, RunsAhead, still_holds
from pageturn.writeback.validation import summary_floor
from tests import long
from tests.sessions import call, journaled, open_session

COUNT = counter_for("gpt-5").text
WORDS = "words that are long enough to be worth a summary of their own, " * 12


def talk(session, count, start=0):
    for number in range(start, start + count):
        session.append(pt.user(f"{number} {WORDS}"))


def runs_of(session):
    return RunsAhead(session.reader.state()).find()


def spans(session):
    return {(run.pages[0].seq, run.pages[-1].seq) for run in runs_of(session)}


def test_below_twelve_units_nothing_is_planned():
    session = open_session()
    talk(session, 11)
    assert runs_of(session) == []
    talk(session, 1)
    assert len(runs_of(session)) == 1


def test_runs_end_before_the_eight_newest_units():
    session = open_session()
    for _ in range(40):
        talk(session, 1)
        newest = session.reader.pages()[-8:][0].seq
        assert all(last < newest for _, last in spans(session))


def test_there_are_at_most_97_of_three_sizes_and_one():
    session = open_session()
    talk(session, 1_000)
    runs = runs_of(session)
    sizes = [run.units for run in runs]
    assert len(runs) <= 97
    assert [sizes.count(size) for size in (4, 16, 64)] == [32, 32, 15]
    assert sizes[-1] == 256
    assert runs[-1].pages[0] == session.reader.pages()[0]


def test_the_small_lie_whole_in_the_large():
    session = open_session()
    talk(session, 300)
    found = sorted(spans(session), key=lambda span: span[0] - span[1])
    for at, (first, last) in enumerate(found):
        for wide_first, wide_last in found[:at]:
            assert last < wide_first or wide_last < first or (wide_first <= first and last <= wide_last)


def test_an_append_keeps_what_was_planned_and_undo_takes_its_own_away():
    session = open_session()
    for number in range(40):
        talk(session, 1, number)
        session.append(pt.assistant(f"answer {number} {WORDS}"))
    before = spans(session)
    talk(session, 1)
    assert before <= spans(session)
    session.undo(10)
    pages = {page.seq for page in session.reader.pages()}
    assert all(first in pages and last in pages for first, last in spans(session))


def test_a_target_is_above_what_the_gate_refuses_and_below_a_third():
    session = open_session()
    talk(session, 100)
    for run in runs_of(session):
        assert summary_floor(run.tokens) < run.target_tokens <= max(run.tokens // 3, 64)
    assert {run.target_tokens for run in runs_of(session)} == {run.target_tokens for run in runs_of(session)} & set(
        range(100, 1_025)
    )


ACTS = st.lists(st.sampled_from("uuuuccllprie"), min_size=12, max_size=60)


def act(session, number, what, waiting):
    """Talk, calls with results at once, late or never, rules, resets and erased pages."""
    match what:
        case "u":
            session.append(pt.user(f"{number} {WORDS}"))
        case "c" | "m":  # eight of the large ones are more entries than a late result can cross
            calls = [call(f"{number}-{at}") for at in range(1 if what == "c" else 12)]
            session.extend([pt.assistant(*calls), *(pt.tool_result(each, WORDS) for each in calls)])
        case "l":
            session.append(pt.assistant(call(number)))
            waiting.append(number)
        case "p":
            session.pin(f"rule {number}")
        case "r" if waiting:
            session.append(pt.tool_result(f"c{waiting.pop()}", WORDS))
        case "i":
            session.append(pt.user(f"hidden {number} {WORDS}", visibility=pt.Visibility.INTERNAL))
        case "e" if number % 7 == 0:
            session.reset(f"before {number}", force=True)
        case "e":
            session.erase(session.reader.pages()[-1]) if session.reader.pages() else None
        case "x":
            session.undo() if session.reader.answers else None


@st.composite
def histories(draw):
    session = open_session()
    waiting = []
    for number, what in enumerate(draw(ACTS)):
        act(session, number, what, waiting)
    return session


@given(st.lists(st.sampled_from("u" * 8 + "c" * 8 + "mmmmlllrrrpiex"), min_size=40, max_size=160), st.integers(1, 9))
@settings(max_examples=long.examples(25, whole=400))
def test_runs_that_are_found_as_a_session_grows_are_those_that_are_there(acts, often):
    session, journal = journaled()
    ahead, waiting = RunsAhead(journal.state), []
    for number, what in enumerate(acts):
        act(session, number, what, waiting)
        if number % often == 0 or number == len(acts) - 1:
            assert ahead.find() == found_simply(session)


def found_simply(session):
    """The same runs, found by looking at everything."""
    state = session.reader.state()
    after = state.resets[-1] if state.resets else 0
    units = [unit for unit in units_of(session.reader.pages(), session.reader.answers) if unit[0].seq > after]
    stretches = [[]]
    for unit in units[:-8] if len(units) >= 12 else []:
        if unanswered(unit) or any(state.kind(page).is_rule for page in unit):
            stretches.append([])
        else:
            stretches[-1].append(unit)
    groups = [list(entangled(stretch, lambda unit: (unit[0].seq, unit[-1].seq))) for stretch in stretches]
    found = []
    for size in (4, 16, 64):
        runs = [each[at : at + size] for each in groups for at in range(0, len(each) - size + 1, size)]
        found += runs[-32:]
    pages = [
        sorted((page for group in run for unit in group for page in unit), key=lambda page: page.seq) for run in found
    ]
    runs = [Run(tuple(each), sum(map(len, run))) for each, run in zip(pages, found, strict=True)]
    return [run for run in runs if run.is_worthwhile and still_holds(state, run)]


def test_the_newest_units_have_not_come_to_rest_however_many_pages_they_have():
    session, journal = journaled()
    ahead = RunsAhead(journal.state)
    for number, what in enumerate("u" * 20 + "m" * 12):
        act(session, number, what, [])
        assert ahead.find() == found_simply(session)


def test_what_has_come_to_rest_is_not_looked_at_again():
    session, journal = journaled()
    state = journal.state
    ahead = RunsAhead(state)
    talk(session, 2_000)
    ahead.find()
    talk(session, 1)
    state.pages = Watched(state.pages)
    assert len(ahead.find()) > 90
    assert 0 < Watched.looked_at < 200


class Watched(list):
    """A list that counts how much of it is looked at."""

    looked_at = 0

    def __getitem__(self, at):
        found = super().__getitem__(at)
        Watched.looked_at += len(found) if isinstance(at, slice) else 0
        return found


@given(histories())
@settings(max_examples=long.examples(60, whole=1_000))
def test_runs_are_whole_and_cover_no_rule_and_nothing_that_is_covered(session):
    state = session.reader.state()
    units = units_of(session.reader.pages(), session.reader.answers)
    for run in runs_of(session):
        first, last = run.pages[0].seq, run.pages[-1].seq
        assert [page.seq for page in run.pages] == [
            page.seq for page in session.reader.pages() if first <= page.seq <= last
        ]
        assert not any(state.kind(page).is_rule for page in run.pages)
        assert first > (state.resets[-1] if state.resets else 0)
        inside = {page.seq for page in run.pages}
        assert not any(unanswered(unit) for unit in units if unit[0].seq in inside)
        assert all(
            inside.isdisjoint(page.seq for page in unit) or inside >= {page.seq for page in unit} for unit in units
        )


@given(st.text(), st.integers(0, 40))
def test_a_cut_is_valid_text_within_its_tokens(text, most):
    short = cut(text, most, COUNT)
    assert COUNT(short) <= most
    assert text.strip().startswith(short)
