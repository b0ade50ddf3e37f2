"""What a fold leaves standing, by a policy that says of each call at which level it wants it."""

from datetime import timedelta
from itertools import pairwise, zip_longest

import pytest

import pageturn as pt
from pageturn.context.fold import _shrunk
from pageturn.values.entries import FoldReason
from pageturn.values.layout import Forecast
from pageturn.values.messages import Thinking
from tests.context.checks import check_all
from tests.context.test_reasoning import BOUND, TOOL, think, thoughts
from tests.context.test_turns import words, work
from tests.sessions import call, clock_of, counter_of, forms_in_memory, open_session, reopened, store_of

FULL, COMPRESSED, STRUCTURED, POINTER = pt.ResidencyLevel
frames = []  # that the policy was given
asked = []  # the levels of which it was last asked what it expects


@pt.register_policy("chosen_in_tests")
class Chosen(pt.DerivePolicy):
    """Folds at every turn, or where it must, and wants the calls in order at these levels; all others may sink into lines."""

    levels: tuple[pt.ResidencyLevel | None, ...] = ()
    folds: bool = True
    demands: bool = False  # folds that change nothing, too

    def is_full(self, growth, budget_tokens):
        return self.demands

    def pays(self, growth, budget_tokens):
        return self.folds

    def forecast(self, frame, levels):
        asked[:] = [levels]
        return Forecast(turns=len(levels))

    def plan(self, frame, least, tokens):
        frames.append(frame)
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
def test_a_line_is_sealed_when_so_many_units_are_in_it_for_the_second_time(count, is_sealed):
    session = reading(count, policy=Chosen(demands=True))
    assert [line.sealed for line in lines_of(answered(session, 2))] == [False]
    (line,) = lines_of(answered(session))
    assert line.sealed is is_sealed
    state = session.reader.state()
    assert bool([first for first in state.placed if line.first <= first <= line.last]) is not is_sealed


def test_what_was_sealed_while_the_calls_went_to_another_model_is_in_one_line():
    session = reading(1)
    session.derive(model="claude-sonnet-4")
    answered(session)
    work(session, 8, start=1, lines=3, derive=False)
    answered(session, 3)
    assert any(line.sealed for line in session.reader.lines)
    context = session.derive(model="claude-sonnet-4")
    spans = [(each.first, each.last) for each in context.layout.placements]
    assert all(last < after for (_, last), (after, _) in pairwise(spans))
    assert context.messages == reopened(session).derive(model="claude-sonnet-4").messages


def test_a_line_is_cut_behind_what_came_to_rest():
    session = reading(12)
    calls = [page.seq for page in session.reader.pages() if page.calls]
    results = [page.seq for page in session.reader.pages() if page.results]
    (line,) = lines_of(answered(session))  # which shows the last of them whole, since it is new
    assert line.turn == session.reader.turn
    lines = lines_of(answered(session))
    expected = [(calls[0], results[-2], True), (calls[-1], results[-1], False)]
    assert [(line.first, line.last, line.sealed) for line in lines] == expected
    assert set(session.reader.state().placed).isdisjoint(calls[:-1])


def test_what_a_fold_sealed_is_let_go_when_it_is_answered():
    session = reading(12)
    answered(session, 2)
    sealed = next(line for line in session.reader.lines if line.sealed)
    frames.clear()  # which hold candidates, and those their forms
    kept = [forms.first for forms in forms_in_memory(session)]
    assert kept
    assert not any(sealed.first <= first <= sealed.last for first in kept)


def test_a_few_units_before_a_sealed_line_are_sealed_with_it():
    session = reading(20)
    (whole,) = lines_of(answered(session, 2))[:1]
    assert whole.sealed
    first, second = [page for page in session.reader.pages() if page.results][:2]
    session.pin(first)
    session.pin(second)
    (rest,) = lines_of(answered(session))[:1]
    assert rest.first > second.seq
    assert rest.turn == whole.turn  # what is left of a line is as old as the line
    session.unpin(first)
    session.unpin(second)
    few, rest = lines_of(answered(session))[:2]
    assert (few.first, few.last, few.sealed, rest.sealed) == (whole.first, second.seq, False, True)
    few, *_ = lines_of(answered(session))
    assert few.sealed
    assert not any(whole.first <= each <= whole.last for each in session.reader.state().placed)


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
        pages = [len(session.reader.state().between(line.first, line.last)) for line in sealed]
        assert all(before > 2 * after for before, after in pairwise(pages))
    assert sum(pages) > 80


def test_two_calls_that_lie_between_each_others_pages_are_side_by_side_or_not_at_all():
    session = open_session(policy=Chosen((None, None, None, None, None, FULL)))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 4, lines=40, derive=False)
    one, two = (call(number, "read", f'{{"path": "src/m{number}.py"}}') for number in (1, 2))
    session.extend([pt.assistant("one", one), pt.assistant("two", two)])
    session.extend([pt.tool_result(one, "value_1\n" * 40), pt.tool_result(two, "value_2\n" * 40)])
    session.append(pt.user("Go on"))
    context = answered(session, 3)
    assert "value_2\n" * 40 in words(context)
    asked = next(page for page in session.reader.pages() if page.calls and page.calls[0].id == one.id)
    assert context.explain(asked.handle).line is None


def reading_the_same_names(policy):
    """A session in which two files were read and seen that name the same."""
    names = "\n".join(f"def compute_payload_{number}(order_{number}):" for number in range(8))
    session = open_session(policy=policy, recall=None)
    session.append(pt.user("Fix src/auth.py"))
    for number in range(2):
        read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
        session.extend([pt.assistant("reading", read), pt.tool_result(read, names + "\n    pass" * 60)])
    session.extend([pt.assistant("so"), pt.user("Go on")])
    session.derive()
    session.append(pt.assistant("so"))
    return session


def test_no_budget_is_exceeded_where_names_that_were_told_before_sink():
    """The short form of a call leaves out names that stand before it; where those do not stand, it is longer than was planned."""
    session = reading_the_same_names(Chosen((None, STRUCTURED)))
    levels = set()
    for budget in range(60, session.derive().tokens + 40, 3):
        context = session.derive(budget_tokens=budget)
        assert context.tokens <= budget
        levels |= {each.level for each in context.layout.placements}
    assert STRUCTURED in levels


def test_names_that_are_shown_once_leave_room_for_more():
    session = reading_the_same_names(Chosen((STRUCTURED, STRUCTURED)))
    context = session.derive()
    exactly = session.derive(budget_tokens=context.tokens)
    assert [each.level for each in exactly.layout.placements].count(STRUCTURED) == 2
    assert exactly.messages == context.messages


def test_the_task_is_what_was_asked_last_and_still_counts():
    session = open_session(policy=Chosen())
    first = session.append(pt.user("Fix src/auth.py"))
    session.append(pt.assistant("so"))
    session.append(pt.user("Fix src/login.py and all that depends on it"))
    session.append(pt.assistant("so"))
    session.undo(1)
    assert session.derive().explain(first.handle).why == "task"


def test_a_task_that_the_store_lost_is_a_fault_and_the_one_before_it_holds():
    session = open_session(policy=Chosen(demands=True))
    first, lost = session.extend([pt.user("Fix src/auth.py"), pt.user("Fix src/login.py and all that depends on it")])
    store_of(session)._connection.execute("DELETE FROM blobs WHERE digest = ?", (lost.digest,))
    context = reopened(session).derive()
    assert [fault.code for fault in context.faults] == ["backend_error"]
    assert context.explain(first.handle).why == "task"


@pytest.mark.parametrize("notes", [0, 1, 2, 3])
@pytest.mark.parametrize("prompt", [(), (pt.system("You are careful."),)], ids=["no prompt", "prompt"])
def test_reasoning_stays_before_the_first_call_that_is_shown_otherwise_than_it_was_sent(prompt, notes):
    session = open_session(policy=Chosen((FULL, COMPRESSED, FULL)), model=BOUND)
    session.extend([*prompt, pt.user("Fix src/auth.py")])
    for number in range(notes):
        session.inject(pt.ContextMessage.system(f"note {number}", f"Mind the time, {number}."))
    for number, lines in enumerate((1, 400, 1)):
        think(session, number, lines=lines)
    context = session.derive([TOOL])
    calls = [each.level for each in context.layout.placements if each.last > each.first]
    assert calls == [FULL, COMPRESSED, FULL]
    assert thoughts(context) == ["sig0"]
    assert context.fold.unreasoned is not None
    assert context.tokens == sum(map(counter_of(session).message, context.messages)) + counter_of(session).tools(
        [TOOL, pt.RecallTool().definition]
    )
    session.append(pt.assistant("so"))
    assert thoughts(session.derive([TOOL])) == ["sig0"]
    assert thoughts(reopened(session, model=BOUND).derive([TOOL])) == ["sig0"]


def test_a_fold_that_changes_nothing_leaves_all_reasoning():
    session = open_session(policy=Chosen((FULL,) * 3, demands=True), model=BOUND)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    for number in range(3):
        think(session, number, lines=1)
    context = session.derive([TOOL])
    assert context.fold.reason is FoldReason.FULL
    assert context.fold.unreasoned is None
    assert thoughts(context) == ["sig0", "sig1", "sig2"]
    session.append(pt.assistant(Thinking(text="so", signature="sig3"), "so"))
    assert thoughts(session.derive([TOOL])) == ["sig0", "sig1", "sig2", "sig3"]  # also where the model spoke last


def test_a_policy_learns_in_a_fold_how_the_context_had_grown():
    frames.clear()
    session = reading(2)
    stood = answered(session).tokens
    work(session, 2, start=2, derive=False)
    session.append(pt.user("Go on"))
    sent = answered(session).tokens
    session.derive()
    growth = frames[-1].growth
    assert (growth.tokens, growth.standing_tokens, growth.grown_tokens) == (sent, sent, 0)  # it was folded just now
    assert sent > stood
    never = open_session(policy=Chosen(folds=False))
    never.append(pt.user("Fix src/auth.py"))
    work(never, 3)
    grown = never.derive()
    never.append(pt.assistant("so"))
    never.derive(budget_tokens=grown.tokens - 1)
    assert frames[-1].growth.grown_tokens == grown.tokens


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
        steps = sum(1 for page in session.reader.pages() if not page.results and page.seq not in shown)
        notices = [notice for notice in context.notices if "earlier step" in notice]
        told.add(steps)
        assert len(notices) == bool(steps)
        assert not steps or notices[0].startswith(f"{steps} earlier step")
        assert all(notice in words(context) for notice in notices)
    assert count in told


def test_where_a_unit_keeps_its_level_the_fold_since_which_it_does_is_kept():
    session = reading(3, policy=Chosen((STRUCTURED, STRUCTURED, STRUCTURED)))
    first, *_ = [page for page in session.reader.pages() if page.calls]
    answered(session, 2)
    since = [session.derive().explain(first.handle).since_turn for _ in range(3) if answered(session)]
    assert len(set(since)) == 1
    session.choose(Chosen((FULL, STRUCTURED, STRUCTURED)))
    context = answered(session)
    assert context.explain(first.handle).since_turn == session.reader.turn > since[-1]


def test_only_what_differs_from_the_last_fold_is_written_down():
    session = reading(3, policy=Chosen((STRUCTURED, STRUCTURED, STRUCTURED), demands=True))
    answered(session, 3)
    fold = session.derive().fold
    assert set(fold.placed) == {
        session.reader.pages()[-1].seq,
        session.reader.pages()[-2].seq,
    }  # one is new, and one is no longer
    assert fold.gone == ()
    session.undo(1)
    assert session.derive().fold.gone == ()
    session.choose(Chosen())
    context = answered(session)
    assert set(context.fold.placed) >= {page.seq for page in session.reader.pages() if page.calls}
    session.undo(2)
    assert session.derive().fold.gone != ()


def test_a_policy_learns_whether_a_context_was_sent_before_and_is_likely_remembered():
    frames.clear()
    session = reading(2)
    session.derive()
    assert (frames[-1].is_running, frames[-1].is_warm) == (False, False)
    session.append(pt.assistant("so"))
    assert session.derive().fold.reason is FoldReason.PAYS
    assert (frames[-1].is_running, frames[-1].is_warm) == (True, True)
    clock_of(session).now += timedelta(hours=1)
    session.append(pt.user("Go on"))
    assert session.derive().fold.reason is FoldReason.COLD
    assert (frames[-1].is_running, frames[-1].is_warm) == (True, False)


def test_a_policy_is_asked_what_it_expects_of_the_units_that_stand_by_themselves():
    session = reading(4, policy=Chosen((FULL, None, None, STRUCTURED)))
    answered(session)
    context = session.derive()
    (levels,) = asked
    standing = {each.first: each.level for each in context.layout.placements if each.line is None}
    assert levels == standing
    assert lines_of(context)
    assert {FULL, STRUCTURED} <= set(levels.values())
    assert context.fold.cost.forecast == Forecast(turns=len(levels))


@pytest.mark.parametrize("is_open", [False, True])
def test_nothing_behind_an_open_call_is_sealed(is_open):
    session = open_session(policy=Chosen())
    session.append(pt.user("Fix src/auth.py"))
    slow = pt.ToolCall(id="slow", name="build", arguments="{}")
    session.append(pt.assistant("in the background", *([slow] if is_open else [])))
    work(session, 12, lines=3, derive=False)
    session.append(pt.user("Go on"))
    assert any(line.sealed for line in lines_of(answered(session, 4))) is not is_open


def test_what_was_seen_whole_is_shown_as_nothing_new():
    session = open_session(policy=Chosen((COMPRESSED,)))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 1, lines=400, derive=False)
    session.extend([pt.assistant("so"), pt.user("Go on")])
    context = answered(session, 2)
    (placed,) = [each for each in session.reader.state().placed.values() if each.level is COMPRESSED]
    assert placed.whole_from == 0
    assert "value_0 = compute_0()\n" * 400 not in words(context)


@pytest.mark.parametrize(("structured", "offers_a_pointer"), [(6, True), (5, False), (4, False)])
def test_a_pointer_is_offered_only_where_it_is_shorter_than_the_form_without_known_names(structured, offers_a_pointer):
    shrunk = _shrunk({FULL: 10, STRUCTURED: 8, POINTER: 5}, structured)
    assert shrunk == {FULL: 10, STRUCTURED: structured} | ({POINTER: 5} if offers_a_pointer else {})
    assert _shrunk({FULL: 10, STRUCTURED: 8}, structured) == {FULL: 10, STRUCTURED: structured}


def test_notes_are_part_of_what_a_fold_needs():
    needed = []
    for notes in ((), ("Mind the time.", "And the place.")):
        session = reading(3)
        for number, text in enumerate(notes):
            session.inject(pt.ContextMessage.system(f"note {number}", text))
        context = session.derive()
        needed.append(context.layout.needed_tokens - sum(outcome.tokens for outcome in context.notes))
    assert needed[0] == needed[1]
    assert context.notes


@pytest.mark.parametrize(
    ("lines", "band"), [(1, pt.ContextMessageTarget.SYSTEM), (900, pt.ContextMessageTarget.SUFFIX_SYSTEM)]
)
def test_a_long_prompt_does_not_keep_what_is_shown_once_out_of_its_band_but_a_long_history_does(lines, band):
    session = open_session(policy=Chosen((FULL,), demands=True))
    session.extend([pt.system("A rule of the house. " * 1_200), pt.user("Fix src/auth.py")])
    work(session, 1, lines=lines)
    session.inject(pt.ContextMessage.system("once", "Mind the time.", consume_after_emit=True))
    context = session.derive()
    assert context.fold is not None
    assert context.tokens > 5_000
    assert [outcome.band for outcome in context.notes] == [band]


@pytest.mark.parametrize("prompt", [[], ["You are careful."]], ids=["no prompt", "prompt"])
def test_only_the_rules_at_the_beginning_are_the_base_prompt(prompt):
    session = open_session(policy=Chosen())
    session.extend([*map(pt.system, prompt), pt.user("Fix src/auth.py")])
    session.pin("Never push to main.")
    session.inject(pt.ContextMessage.system("what", "Mind the time."))
    context = answered(session, 2)
    base = len(prompt)
    assert context.bands[:2] == (base, base + 1)
    beginning = [*prompt, "Mind the time.", "Fix src/auth.py"]
    assert [message.text for message in context.messages][: base + 2] == beginning


def test_a_fold_of_nothing_shows_nothing():
    session = open_session(policy=Chosen(demands=True), recall=None)
    context = session.derive()
    assert (context.messages, context.tokens, context.fold.upto) == ((), 0, 0)
    session.append(pt.assistant("Hello?"))
    assert [message.text for message in session.derive().messages] == ["Hello?"]
