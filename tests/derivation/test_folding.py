"""What a fold leaves standing, by a policy that says of each call at which level it wants it."""

from itertools import pairwise, zip_longest

import pytest

import pageturn as pt
from pageturn.entries import FoldReason
from tests.derivation.checks import check_all
from tests.derivation.test_reasoning import BOUND, TOOL, think, thoughts
from tests.derivation.test_turns import words, work
from tests.sessions import call, open_session, reopened

FULL, COMPRESSED, STRUCTURED, POINTER = pt.ResidencyLevel


@pt.register_policy("chosen_in_tests")
class Chosen(pt.DerivePolicy):
    """Folds at every turn, and wants the calls in order at these levels; all others may sink into lines."""

    levels: tuple[pt.ResidencyLevel | None, ...] = ()

    def is_full(self, growth, budget_tokens):
        return False

    def pays(self, growth, budget_tokens):
        return True

    def plan(self, frame, least, tokens):
        calls = [unit for unit in frame.candidates if unit.kind is pt.PageKind.EVIDENCE]
        pairs = zip_longest(calls[: len(self.levels)], self.levels)
        return {unit.first: level for unit, level in pairs if unit is not None and level in unit.sizes}


def reading(count, **options):
    """A session in which so many files were read, and everything was seen."""
    session = open_session(**{"policy": Chosen()} | options)
    session.append(pt.user("Fix src/auth.py"))
    work(session, count, lines=3, derive=False)
    session.append(pt.user("Go on"))
    return session


def answered(session, times=1):
    """Derive, and let a model answer; the last context."""
    for _ in range(times):
        context = session.derive()
        check_all(session, context, 10**9)
        session.append(pt.assistant("so"))
    return context


def lines_of(context):
    return [each.line for each in context.layout.placements if each.line is not None]


@pytest.mark.parametrize(("count", "is_sealed"), [(7, False), (8, True)])
def test_a_line_is_sealed_when_so_many_units_stand_in_it_for_the_second_time(count, is_sealed):
    session = reading(count)
    assert [line.sealed for line in lines_of(answered(session, 2))] == [False]
    (line,) = lines_of(answered(session))
    assert line.sealed is is_sealed
    state = session._journal.state
    assert bool([first for first in state.placed if line.first <= first <= line.last]) is not is_sealed


def test_a_line_is_cut_behind_what_came_to_rest():
    session = reading(12)
    calls = [page.seq for page in session.pages() if page.calls]
    results = [page.seq for page in session.pages() if page.results]
    answered(session)  # which shows the last of them whole, since it is new
    lines = lines_of(answered(session))
    expected = [(calls[0], results[-2], True), (calls[-1], results[-1], False)]
    assert [(line.first, line.last, line.sealed) for line in lines] == expected
    assert set(session._journal.state.placed).isdisjoint(calls[:-1])


def test_what_a_fold_sealed_is_let_go_when_it_is_answered():
    session = reading(12)
    answered(session, 2)
    (working_set,) = session._deriver._working_sets.values()
    folder, state = working_set._folder, session._journal.state
    sealed = next(line for line in state.lines if line.sealed)
    assert not any(sealed.first <= forms.unit[0].seq <= sealed.last for forms in folder.forms._made.values())
    assert set(folder.forms._held) == {session.pages()[-1].seq}
    assert set(folder._lines._tokens) | set(folder._lines._runs) <= set(state.lines)


def test_a_few_units_before_a_sealed_line_are_sealed_with_it():
    session = reading(20)
    (whole,) = lines_of(answered(session, 2))[:1]
    assert whole.sealed
    first, second = [page for page in session.pages() if page.results][:2]
    session.pin(first)
    session.pin(second)
    (rest,) = lines_of(answered(session))[:1]
    assert rest.first > second.seq
    session.unpin(first)
    session.unpin(second)
    few, rest = lines_of(answered(session))[:2]
    assert (few.first, few.last, few.sealed, rest.sealed) == (whole.first, second.seq, False, True)
    few, *_ = lines_of(answered(session))
    assert few.sealed
    assert not any(whole.first <= each <= whole.last for each in session._journal.state.placed)


def test_a_few_units_are_not_sealed_with_a_line_behind_something_else():
    session = open_session(policy=Chosen())
    session.append(pt.user("Fix src/auth.py"))
    work(session, 3, lines=3, derive=False)
    session.append(pt.user("Go on"))
    work(session, 12, start=3, lines=3, derive=False)
    session.append(pt.user("Go on"))
    few, many, *_ = lines_of(answered(session, 3))
    assert (few.sealed, many.sealed) == (False, True)


def test_what_comes_to_rest_behind_a_sealed_line_becomes_one_with_it_unless_that_is_much_longer():
    session = open_session(policy=Chosen())
    session.append(pt.user("Fix src/auth.py"))
    work(session, 12, lines=3, derive=False)
    answered(session, 2)
    for number in range(12, 40):
        work(session, 1, start=number, lines=3, derive=False)
        sealed = [line for line in lines_of(answered(session)) if line.sealed]
        pages = [len(session._journal.state.between(line.first, line.last)) for line in sealed]
        assert all(before > 2 * after for before, after in pairwise(pages))
    assert sum(pages) > 80


def test_two_calls_that_lie_between_each_others_pages_stand_side_by_side_or_not_at_all():
    session = open_session(policy=Chosen((None, None, None, None, None, FULL)))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 4, lines=40, derive=False)
    one, two = (call(number, "read", f'{{"path": "src/m{number}.py"}}') for number in (1, 2))
    session.append(pt.assistant("one", one), pt.assistant("two", two))
    session.append(pt.tool_result(one, "value_1\n" * 40), pt.tool_result(two, "value_2\n" * 40))
    session.append(pt.user("Go on"))
    context = answered(session, 3)
    assert "value_2\n" * 40 in words(context)
    asked = next(page for page in session.pages() if page.calls and page.calls[0].id == one.id)
    assert context.explain(asked.handle).line is None


def test_no_budget_is_exceeded_where_names_that_were_told_before_sink():
    """The short form of a call leaves out names that stand before it; where those do not stand, it is longer than was planned."""
    names = "\n".join(f"def compute_payload_{number}(order_{number}):" for number in range(8))
    session = open_session(policy=Chosen((None, STRUCTURED)), recall=None)
    session.append(pt.user("Fix src/auth.py"))
    for number in range(2):
        read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
        session.append(pt.assistant("reading", read), pt.tool_result(read, names + "\n    pass" * 60))
    session.append(pt.assistant("so"), pt.user("Go on"))
    session.derive()
    session.append(pt.assistant("so"))
    largest = session.derive().tokens
    levels = set()
    for budget in range(60, largest + 40, 3):
        context = session.derive(budget_tokens=budget)
        assert context.tokens <= budget
        levels |= {each.level for each in context.layout.placements}
    assert STRUCTURED in levels


@pytest.mark.parametrize("notes", [0, 1, 2, 3])
@pytest.mark.parametrize("prompt", [(), (pt.system("You are careful."),)], ids=["no prompt", "prompt"])
def test_reasoning_stays_before_the_first_call_that_is_shown_otherwise_than_it_was_sent(prompt, notes):
    session = open_session(policy=Chosen((FULL, COMPRESSED, FULL)), model=BOUND)
    session.append(*prompt, pt.user("Fix src/auth.py"))
    for number in range(notes):
        session.inject(pt.ContextMessage.system(f"note {number}", f"Mind the time, {number}."))
    for number, lines in enumerate((1, 400, 1)):
        think(session, number, lines=lines)
    context = session.derive([TOOL])
    calls = [each.level for each in context.layout.placements if each.last > each.first]
    assert calls == [FULL, COMPRESSED, FULL]
    assert thoughts(context) == ["sig0"]
    assert context.fold.unreasoned is not None
    assert context.tokens == sum(map(session._counter.message, context.messages)) + session._counter.tools(
        [TOOL, pt.RecallTool().definition]
    )
    session.append(pt.assistant("so"))
    assert thoughts(session.derive([TOOL])) == ["sig0"]
    assert thoughts(reopened(session, model=BOUND).derive([TOOL])) == ["sig0"]


def test_a_fold_that_changes_nothing_leaves_all_reasoning():
    session = open_session(policy=Chosen((FULL,) * 3), model=BOUND)
    session.append(pt.system("You are careful."), pt.user("Fix src/auth.py"))
    for number in range(3):
        think(session, number, lines=1)
    context = session.derive([TOOL])
    assert context.fold.reason is FoldReason.PAYS
    assert context.fold.unreasoned is None
    assert thoughts(context) == ["sig0", "sig1", "sig2"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_steps_that_are_missing_for_good_are_counted(count):
    session = reading(count, recall=None)
    answered(session)
    told = set()
    for budget in range(session.derive().tokens, 20, -1):
        try:
            context = session.derive(budget_tokens=budget)
        except pt.BudgetTooSmall:
            break
        shown = {each.first for each in context.layout.placements if each.line is None and each.level > POINTER}
        steps = sum(1 for page in session.pages() if not page.results and page.seq not in shown)
        notices = [notice for notice in context.notices if "earlier step" in notice]
        told.add(steps)
        assert len(notices) == bool(steps)
        assert not steps or notices[0].startswith(f"{steps} earlier step")
        assert all(notice in words(context) for notice in notices)
    assert count in told


def test_where_a_unit_stands_as_it_stood_the_fold_since_which_it_does_is_kept():
    session = reading(3, policy=Chosen((STRUCTURED, STRUCTURED, STRUCTURED)))
    first, *_ = [page for page in session.pages() if page.calls]
    answered(session, 2)
    since = [session.derive().explain(first.handle).since_turn for _ in range(3) if answered(session)]
    assert len(set(since)) == 1
    session.choose(Chosen((FULL, STRUCTURED, STRUCTURED)))
    context = answered(session)
    assert context.explain(first.handle).since_turn == session._journal.state.turn > since[-1]


def test_only_what_differs_from_the_last_fold_is_written_down():
    session = reading(3, policy=Chosen((STRUCTURED, STRUCTURED, STRUCTURED)))
    answered(session, 3)
    fold = session.derive().fold
    assert set(fold.placed) == {session.pages()[-1].seq, session.pages()[-2].seq}  # one is new, and one is no longer
    assert fold.gone == ()
    session.undo(1)
    assert session.derive().fold.gone == ()
    session.choose(Chosen())
    context = answered(session)
    assert set(context.fold.placed) >= {page.seq for page in session.pages() if page.calls}
    session.undo(2)
    assert session.derive().fold.gone != ()
