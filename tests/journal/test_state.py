"""The state that entries come to, entry by entry: what each of them changes, and what it leaves."""

import pytest

import pageturn as pt
from pageturn.journal.apply import apply, forget_page
from pageturn.journal.state import ABANDONED, SessionState, Write
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.too_long import Bound
from pageturn.values import entries as e
from pageturn.values.faults import DuplicateTool, FlushMiss, Refetch
from pageturn.values.layout import IndexLine, Why
from pageturn.values.pages import CallReference, Page, PageKind, ResultReference
from pageturn.values.proposals import DestructiveOp, Op, Proposal

FULL, COMPRESSED, STRUCTURED, POINTER = pt.ResidencyLevel
BOOTSTRAP, CONSTRAINT, PLAN, PREFERENCE, EVIDENCE, CONVERSATION = (
    PageKind.BOOTSTRAP, PageKind.CONSTRAINT, PageKind.PLAN, PageKind.PREFERENCE, PageKind.EVIDENCE, PageKind.CONVERSATION,
)  # fmt: skip


class Told:
    """A state, and entries for it."""

    def __init__(self):
        self.state = SessionState()

    def tell(self, entry):
        """What changed for what was shown by one more entry."""
        before = self.state.changes
        apply(self.state, self.state.head + 1, entry)
        return self.state.changes - before

    def page(self, kind=CONVERSATION, role=pt.Role.USER, digest=None, calls=(), answers=(), **fields):
        seq = self.state.head + 1
        page = Page(
            seq=seq,
            check="abcd",
            id=f"m{seq}",
            role=role,
            kind=kind,
            digest=digest or f"d{seq}",
            size=100 + seq,
            tokens=10,
            calls=tuple(CallReference(id=each, name=f"tool_{each}", arguments="") for each in calls),
            results=tuple(ResultReference(call=each, content="") for each in answers),
            **fields,
        )
        self.tell(e.MessageAdded(page=page))
        return seq

    def system(self, **fields):
        return self.page(BOOTSTRAP, pt.Role.SYSTEM, **fields)

    def answer(self, *calls, **fields):
        """A turn of the model."""
        seq = self.page(role=pt.Role.ASSISTANT, calls=calls)
        self.tell(e.TurnTaken(page=seq, **fields))
        return seq

    def result(self, *answers):
        return self.page(EVIDENCE, pt.Role.TOOL, answers=answers)

    def shown(self, upto, fold=None, **fields):
        fields = {"model": "m", "tokens": 100, "budget_tokens": 1_000, "tools": "", "layout": ""} | fields
        return e.Shown(upto=upto, fold=fold, **fields)

    def fold(self, placed, lines=(), upto=None, **fields):
        """A turn whose context was a fold."""
        upto = upto if upto is not None else self.state.pages[-1].seq
        placed = {first: e.Placed(level, Why.ROOM, 1) for first, level in placed.items()}
        fold = e.Fold(upto=upto, reason=e.FoldReason.FULL, placed=placed, lines=tuple(lines), **fields)
        return self.answer(shown=self.shown(upto, fold))


@pytest.fixture
def told():
    return Told()


def test_pages_are_found_by_their_number_and_by_what_lies_between(told):
    one = told.page()
    told.tell(e.ModelChosen(model="m"))
    two, three = told.page(), told.page()
    state = told.state
    assert [state.index(seq) for seq in (0, one, one + 1, two, three, three + 1)] == [None, 0, None, 1, 2, None]
    assert [state.page(seq) for seq in (0, one, one + 1, two)] == [None, state.pages[0], None, state.pages[1]]
    assert [state.after(seq) for seq in (0, one, one + 1, two, three)] == [0, 1, 1, 2, 3]
    told.tell(e.PageErased(page=two, digest="d"))
    assert [page.seq for page in state.between(one, three)] == [one, three]
    assert [page.seq for page in state.between(one + 1, three)] == [three]
    assert [page.seq for page in state.between(one, three - 1)] == [one]
    assert state.size_between(one, three) == 200 + one + three
    assert state.model == "m"
    assert [page.seq for page in state.live_pages()] == [one, three]


def test_only_instructions_are_an_opening_and_only_people_are_people(told):
    told.system()
    assert told.state.is_opening
    assert told.state.people == []
    person = told.page()
    assert not told.state.is_opening
    told.page(synthetic=True)
    told.result("c")
    assert told.state.people == [person]
    other = Told()
    other.result("c")
    assert not other.state.is_opening


def test_a_pinned_page_is_a_rule_and_what_was_pinned_is_talk_after(told):
    talk, stated = told.page(), told.page(CONSTRAINT, pt.Role.SYSTEM)
    state = told.state
    assert [state.kind(page) for page in state.pages] == [CONVERSATION, CONVERSATION]
    told.tell(e.Pinned(page=talk))
    told.tell(e.Pinned(page=stated))
    assert [state.kind(page) for page in state.pages] == [CONSTRAINT, CONSTRAINT]
    told.tell(e.Unpinned(page=talk))
    assert [state.kind(page) for page in state.pages] == [CONVERSATION, CONSTRAINT]
    assert state.promises == 3


def test_the_path_of_a_call_whose_result_is_a_rule_needs_a_form_for_every_rule(told):
    call, one, two = told.answer("a", "b"), told.result("a"), told.result("b")
    state = told.state
    unit = tuple(map(state.page, (call, one, two)))
    assert state.path(unit) == EVIDENCE.degradation_path
    form = e.TextReference("t", 3)
    told.tell(e.Pinned(page=one, structured=form))
    assert state.path(unit) == CONSTRAINT.degradation_path
    told.tell(e.Pinned(page=two))
    assert state.path(unit) == (FULL,)
    form = {"first": two, "last": two, "level": STRUCTURED, "digest": "r", "tokens": 3, "txn": 0}
    for fields in ({}, {"approved": True, "level": COMPRESSED}, {"approved": True, "first": one}):
        told.tell(e.RenditionAdmitted(**form | fields))
        assert state.path(unit) == (FULL,), fields
    told.tell(e.RenditionAdmitted(**form, approved=True))
    assert state.path(unit) == CONSTRAINT.degradation_path


def test_only_the_plan_in_force_keeps_its_structured_form(told):
    old, new = told.page(PLAN, pt.Role.SYSTEM), told.page(PLAN, pt.Role.SYSTEM)
    state = told.state
    assert state.path((state.page(old),)) == PLAN.degradation_path
    told.tell(e.PlanSet(page=old, version=1))
    told.tell(e.PlanSet(page=new, version=2))
    assert [state.is_in_force(page) for page in state.pages] == [False, True]
    assert [state.path((page,)) for page in state.pages] == [(FULL, STRUCTURED, POINTER), (FULL, STRUCTURED)]
    assert told.tell(e.PlanSet(page=0, version=3)) == 2
    assert [page.counts for page in state.pages] == [False, False]


def test_a_rule_that_is_said_again_repeats_the_first_as_long_as_that_counts_and_is_one(told):
    first, second = told.system(digest="same"), told.system(digest="same")
    other = told.system(digest="other")
    state = told.state
    assert [state.repeats_rule(page) for page in state.pages] == [False, True, False]
    talk = told.page(digest="same")
    assert not state.repeats_rule(state.page(talk))
    assert told.tell(e.Pinned(page=talk)) == 1  # a twin stands for it
    assert state.repeats_rule(state.page(talk))
    assert state.rules["same"] == (
        first,
        second,
        talk,
    )
    assert told.tell(e.Pinned(page=talk)) == 1
    assert state.rules["same"] == (
        first,
        second,
        talk,
    )
    assert told.tell(e.Pinned(page=other)) == 0  # it stands whole as it is
    assert state.rules["other"] == (other,)
    told.tell(e.PageErased(page=first, digest="same"))
    assert not state.repeats_rule(state.page(second))


def test_an_earlier_page_that_is_pinned_later_comes_first_among_its_twins(told):
    talk, rule = told.page(digest="same"), told.system(digest="same")
    assert told.tell(e.Pinned(page=talk)) == 1
    assert told.state.rules["same"] == (
        talk,
        rule,
    )
    assert told.state.repeats_rule(told.state.page(rule))
    told.tell(e.Unpinned(page=talk))
    assert not told.state.repeats_rule(told.state.page(rule))


def test_a_call_is_open_until_it_is_answered_undone_or_abandoned(told):
    def waiting():
        return [(page.seq, call.id) for page, call in told.state.open_calls()]

    one = told.answer("a", "b", "a")
    assert waiting() == [(one, "a"), (one, "b"), (one, "a")]
    told.result("nobody's")
    told.result("a")
    assert waiting() == [(one, "a"), (one, "b")]
    told.result("b", "a")
    two = told.answer("c")
    assert waiting() == [(two, "c")]
    for _ in range(ABANDONED - 2):
        told.answer()
    assert waiting() == [(two, "c")]
    told.answer()
    assert waiting() == [(two, "c")]
    told.answer()
    assert waiting() == []
    three = told.answer("d")
    told.tell(e.TurnsUndone(first=three, last=told.state.head))
    assert waiting() == []


def test_exactly_32_turns_ago_a_call_is_still_waited_for(told):
    first = told.answer("a")
    for _ in range(ABANDONED - 1):
        told.answer()
    assert [page.seq for page, _ in told.state.open_calls()] == [first]
    told.answer()
    assert told.state.open_calls() == []


def test_a_scope_is_for_those_who_have_it_and_a_pin_for_all(told):
    wish, anyone = told.page(PREFERENCE), told.page(PREFERENCE)
    told.tell(e.Preferred(page=wish, scope="team"))
    told.tell(e.Preferred(page=anyone))
    state = told.state
    page = state.page(wish)
    assert [state.is_out_of_scope(page, scope) for scope in (None, "team", "other")] == [True, False, True]
    assert not state.is_out_of_scope(state.page(anyone), None)
    assert told.tell(e.ScopeGranted(scope="elsewhere")) == 0
    assert told.tell(e.ScopeGranted(scope="team")) == 1
    assert told.tell(e.ScopeGranted(scope="team")) == 0
    assert not state.is_out_of_scope(page, None)
    assert told.tell(e.ScopeGranted(scope="team", allowed=False)) == 1
    assert state.is_out_of_scope(page, None)
    assert told.tell(e.Pinned(page=wish)) == 1  # it may not have been shown at all
    assert not state.is_out_of_scope(page, None)
    assert told.tell(e.Pinned(page=anyone)) == 0


def test_turns_are_counted_from_one_and_begin_behind_the_turn_or_the_reset_before(told):
    rule, ask = told.system(), told.page()
    first, result = told.answer("a"), told.result("a")
    more = told.page()
    second = told.answer()
    state = told.state
    assert [state.turn_of(state.page(seq)) for seq in (rule, first, result, second)] == [1, 1, 2, 2]
    assert [state.start_of_turns(count) for count in (0, 1, 2, 3)] == [None, more, ask, None]
    summary = told.page(synthetic=True)
    told.tell(e.SessionReset(page=summary))
    behind = told.page()
    told.answer()
    assert [state.start_of_turns(count) for count in (1, 2)] == [behind, more]
    assert (state.turn, len(state.turns)) == (3, 3)


def test_results_belong_to_the_turn_that_called(told):
    told.answer("a")
    ask = told.page()
    late = told.result("a")
    call = told.answer("b")
    result = told.result("b")
    state = told.state
    found = [state.pages[at].seq for at in state.belonging(ask, state.head)]
    assert found == [ask, call, result]
    assert late not in found
    told.tell(e.Pinned(page=result))
    assert [state.pages[at].seq for at in state.belonging(ask, result)] == [ask, call, result]
    assert [state.pages[at].seq for at in state.belonging(ask, call)] == [ask, call]


def test_the_tool_of_a_page_is_that_of_its_newest_caller(told):
    old, new, result, again = told.answer("a", "x"), told.answer("b", "a"), told.result("a"), told.answer("a")
    talk = told.page()
    state = told.state
    assert state.caller(state.page(result)).seq == new
    assert [state.tool_of(state.page(seq)) for seq in (old, new, result, talk)] == ["tool_a", "tool_b", "tool_a", None]
    assert state.caller(state.page(told.result("nobody's"))) is None
    assert state.tool_of(state.pages[-1]) is None
    assert again != new


def test_the_level_of_a_page_is_that_of_its_unit_in_the_last_fold(told):
    lines = [told.page() for _ in range(4)]
    call, early, late = told.answer("a", "b"), told.result("a"), told.result("b")
    alone = told.page()
    gone = told.page()
    told.fold({call: COMPRESSED, alone: STRUCTURED}, [IndexLine(lines[1], lines[2])], upto=gone)
    new = told.page()
    state = told.state

    def levels():
        return [state.level_of(state.page(seq)) for seq in (*lines, call, early, late, alone, gone, new)]

    assert levels() == [POINTER] * 4 + [COMPRESSED] * 3 + [STRUCTURED, POINTER, FULL]
    state.placed[call] = e.Placed(COMPRESSED, Why.ROOM, 1, whole_from=late)
    assert levels()[4:7] == [COMPRESSED, COMPRESSED, FULL]
    state.placed[lines[1]] = state.placed[lines[2]] = state.placed[lines[3]] = e.Placed(FULL, Why.ROOM, 1)
    assert levels()[:4] == [POINTER, POINTER, POINTER, FULL]


def test_another_prompt_takes_the_place_of_the_opening_and_of_the_last_one(told):
    pinned, first, second = told.system(), told.system(), told.system()
    told.tell(e.Pinned(page=pinned))
    told.page()
    later = told.system()
    state = told.state
    new = told.system()
    assert told.tell(e.SystemReplaced(page=new)) == 1
    assert [page.seq for page in state.pages if page.replaced] == [first, second]
    newer = told.system()
    assert told.tell(e.SystemReplaced(page=newer)) == 1
    assert [page.seq for page in state.pages if page.replaced] == [first, second, new]
    assert state.system == newer
    told.tell(e.Pinned(page=newer))
    told.tell(e.SystemReplaced(page=told.system()))
    assert not state.page(newer).replaced
    assert not state.page(later).replaced


def test_a_prompt_in_the_opening_replaces_only_those_before_it(told):
    first, new = told.system(), told.system()
    after = told.system()
    told.tell(e.SystemReplaced(page=new))
    assert [page.replaced for page in map(told.state.page, (first, new, after))] == [True, False, False]


def test_a_turn_says_what_was_seen_and_used_and_whether_something_came_before_its_answer(told):
    told.page()
    usage = pt.Usage(input_tokens=200, model="m")
    one = told.answer(usage=usage)
    state = told.state
    assert (state.seen, state.shown, state.usage, state.overtaken) == (one, None, usage, [])
    ask = told.page()
    told.answer(shown=told.shown(ask), usage=pt.Usage(input_tokens=150))
    assert (state.seen, state.overtaken) == (ask, [])
    assert state.calibrations == {"m": Calibration().observe(counted=100, reported=150)}
    ask = told.page()
    told.page()
    told.answer(shown=told.shown(ask))
    assert (state.seen, state.overtaken) == (ask, [ask])
    assert state.usage.input_tokens == 150
    assert state.calibrations == {"m": Calibration().observe(counted=100, reported=150)}
    told.answer()
    assert state.seen == ask
    told.answer(shown=told.shown(ask, tokens=0), usage=pt.Usage(input_tokens=150))
    told.answer(shown=told.shown(ask), usage=pt.Usage(input_tokens=0))
    assert state.calibrations == {"m": Calibration().observe(counted=100, reported=150)}


def test_a_fold_replaces_what_stood_and_knows_of_as_many_changes_as_it_says(told):
    one, two = told.page(), told.page()
    told.tell(e.BoundaryCrossed(kind=e.BoundaryKind.SAVE))
    assert not told.state.is_cold
    told.tell(e.BoundaryCrossed(kind=e.BoundaryKind.COLD_CACHE))
    told.tell(e.BoundaryCrossed(kind=e.BoundaryKind.SAVE))
    assert told.state.is_cold
    told.fold({one: FULL, two: STRUCTURED}, forms=2)
    state = told.state
    assert not state.is_cold
    assert (state.folded, state.folds, state.forms_folded, state.has_handles) == (two, [1], 2, True)
    told.tell(e.Faulted(fault=Refetch(), turn=1, page=one))
    told.tell(e.SessionReset(page=told.page(synthetic=True)))
    told.tell(e.SessionReset(page=told.page(synthetic=True)))
    state.overtaken.append(two)
    told.fold({two: POINTER}, [IndexLine(one, one)], gone=(one,), has_handles=False, changes=1)
    assert {first: placed.level for first, placed in state.placed.items()} == {two: POINTER}
    assert (state.lines, state.folds, state.has_handles) == ([IndexLine(one, one)], [1, 2], False)
    assert (state.changes, state.changes_folded) == (2, 1)
    assert (state.fetched, state.fetched_since_fold, state.overtaken) == ({one: 1}, set(), [])
    told.fold({})
    assert state.changes_folded == 2


def test_reasoning_is_taken_out_in_spans_that_join(told):
    pages = [told.page() for _ in range(12)]

    def taken(*spans):
        state = SessionState()
        state.pages, state.head = list(told.state.pages), told.state.head
        other = Told()
        other.state = state
        for span in spans:
            other.fold({}, upto=pages[-1], unreasoned=span)
        return state

    assert taken((1, 3), (6, 8)).unreasoned == [(1, 3), (6, 8)]
    assert taken((6, 8), (1, 3)).unreasoned == [(1, 3), (6, 8)]
    assert taken((1, 3), (3, 8)).unreasoned == [(1, 8)]
    assert taken((3, 8), (1, 3)).unreasoned == [(1, 8)]
    assert taken((1, 2), (5, 6), (9, 10), (2, 5)).unreasoned == [(1, 6), (9, 10)]
    state = taken((1, 3), (6, 8))
    assert [page.seq for page in state.pages if state.is_unreasoned(page)] == [2, 3, 7, 8]
    answer = told.answer(shown=told.shown(pages[-1]), unreasoned=True)
    assert told.state.unreasoned == [(answer - 1, answer)]


def test_usage_outside_of_a_turn_is_kept_or_is_a_bound(told):
    usage = pt.Usage(input_tokens=10, model="m")
    told.tell(e.UsageReported(usage=usage))
    assert (told.state.usage, told.state.bounds) == (usage, {})
    refused = pt.Usage(input_tokens=99, model="m")
    told.tell(e.UsageReported(usage=refused, most_tokens=80, refused_tokens=90))
    assert told.state.usage == usage
    assert told.state.bounds["m"] == Bound(80, 90)
    told.tell(e.UsageReported(usage=pt.Usage(input_tokens=99), most_tokens=70))
    assert told.state.bounds.keys() == {"m"}
    told.tell(e.OverflowForgotten(model="other"))
    told.tell(e.OverflowForgotten(model="m"))
    assert told.state.bounds == {}


def test_a_pin_of_a_task_log_is_the_hosts_once_the_host_pins_it(told):
    page = told.page()
    told.tell(e.Pinned(page=page, source=e.TASK_LOG))
    assert told.state.from_task_log == {page}
    told.tell(e.Pinned(page=page))
    assert told.state.from_task_log == set()
    told.tell(e.Pinned(page=page, source=e.TASK_LOG))
    told.tell(e.Unpinned(page=page))
    assert (told.state.from_task_log, told.state.pins) == (set(), {})


def test_a_promise_about_what_stands_short_changes_what_is_shown(told):
    whole, short, lined = told.page(), told.page(), told.page()
    told.fold({whole: FULL, short: STRUCTURED}, [IndexLine(lined, lined)], upto=lined)
    new = told.page()
    assert [told.tell(e.Pinned(page=page)) for page in (whole, short, lined, new)] == [0, 1, 1, 0]
    assert [told.tell(e.Unpinned(page=page)) for page in (whole, short, lined, new)] == [0, 1, 1, 0]


def test_what_is_withdrawn_leaves_at_once_and_alone(told):
    one, two = told.page(), told.page()
    told.tell(e.Pinned(page=one))
    assert told.tell(e.Unpinned(page=one, withdrawn=True)) == 1
    assert [page.undone for page in told.state.pages] == [True, False]
    assert told.tell(e.Unpinned(page=one, withdrawn=True)) == 0
    assert told.state.page(two).counts


def test_undone_turns_go_with_their_resets_and_forms_and_a_pin_spares_a_page(told):
    def form(first, last):
        told.tell(e.RenditionAdmitted(first=first, last=last, level=COMPRESSED, digest="r", tokens=3, txn=0))

    old = told.page()
    told.answer()
    ask, pinned = told.page(), told.page()
    told.tell(e.Pinned(page=pinned))
    call = told.answer("a")
    summary = told.page(synthetic=True)
    assert told.state.last_reset == 0
    told.tell(e.SessionReset(page=summary))
    assert told.state.last_reset == summary
    for span in ((old, old), (old, ask), (pinned, pinned), (summary, summary)):
        form(*span)
    state = told.state
    assert told.tell(e.TurnsUndone(first=ask, last=summary - 1)) == 1
    assert [page.seq for page in state.pages if page.undone] == [ask, call]
    assert (state.spared, state.turns, state.resets, state.last_reset) == ({pinned}, [old + 1], [], 0)
    assert [(each.first, each.last) for each in state.renditions] == [(old, old), (summary, summary)]
    assert told.tell(e.Unpinned(page=pinned)) == 1
    assert (state.page(pinned).undone, state.spared) == (True, set())


def test_what_is_committed_to_a_field_is_written_on_or_anew(told):
    page = told.page()
    handle = told.state.page(page).handle

    def commit(op, value, *, field="memory.notes", key=None, refused=False):
        txn = told.state.next_txn
        told.tell(
            e.Staged(
                txn=txn, proposal=Proposal(field=field, op=op, evidence=(handle, "nonsense"), key=key), value=value
            )
        )
        assert txn in told.state.staged
        told.tell(e.Rejected(txn=txn, reason=DestructiveOp()) if refused else e.Committed(txn=txn))
        assert told.state.staged == {}
        return txn

    first = commit(Op.APPEND, "a", key="k")
    assert told.state.settled == {"k": e.Committed(txn=first)}
    commit(Op.APPEND, "b")
    field = told.state.fields["memory.notes"]
    assert field.writes == tuple(Write(Op.APPEND, value, frozenset((page,))) for value in "ab")
    assert field.version == 2
    commit(Op.SET_WITH_VERSION, "c", refused=True)
    assert told.state.fields["memory.notes"] == field
    commit(Op.SET_WITH_VERSION, "c")
    assert [write.value for write in told.state.fields["memory.notes"].writes] == ["c"]
    assert told.state.fields["memory.notes"].version == 3
    commit(Op.APPEND, "d", field="summary")
    assert told.state.fields.keys() == {"memory.notes"}
    assert told.state.next_txn == 5
    assert told.state.settled.keys() == {"k"}


def test_what_waits_is_settled_from_where_it_waits(told):
    told.tell(e.Staged(txn=0, proposal=Proposal(field="memory.a", key="k"), value="v"))
    told.tell(e.Waiting(txn=0))
    assert (told.state.staged, told.state.waiting.keys()) == ({}, {0})
    told.tell(e.Committed(txn=0))
    assert (told.state.waiting, told.state.settled.keys()) == ({}, {"k"})


def test_what_had_to_be_fetched_again_is_counted_and_other_faults_are_only_kept(told):
    page = told.page()
    for fault in (Refetch(), DuplicateTool(), FlushMiss()):
        told.tell(e.Faulted(fault=fault, turn=1, page=page))
    told.tell(e.Faulted(fault=Refetch(), turn=1))
    state = told.state
    assert (state.fetched, state.fetched_since_fold) == ({page: 2}, {page})
    assert [record.seq for record in state.faults] == [page + each for each in (1, 2, 3, 4)]


def test_a_policy_changes_what_is_shown_only_where_there_is_something(told):
    assert told.tell(e.PolicyChosen(policy=pt.Paged())) == 0
    told.page()
    assert told.tell(e.PolicyChosen(policy=pt.Legacy())) == 1
    assert told.state.policy == pt.Legacy()


def test_an_erased_page_takes_with_it_what_was_made_of_it_and_nothing_else(told):
    pages = [told.page(PREFERENCE) for _ in range(6)]
    gone, other = pages[2], pages[4]
    for page in (gone, other):
        told.tell(e.Pinned(page=page, source=e.TASK_LOG))
        told.tell(e.Preferred(page=page))
        told.tell(e.SessionReset(page=page))
        told.tell(e.RenditionAdmitted(first=page, last=page, level=COMPRESSED, digest="r", tokens=3, txn=0))
    spans = [(pages[0], pages[1]), (pages[0], gone), (gone, pages[3]), (pages[3], pages[3])]
    for span in spans:
        told.tell(e.RenditionAdmitted(first=span[0], last=span[1], level=COMPRESSED, digest="r", tokens=3, txn=0))
    lines = [IndexLine(*span, folders="f", ledger="l", summary="s") for span in spans]
    told.fold({}, lines, upto=pages[-1])
    for txn, page in enumerate((gone, other)):
        proposal = Proposal(field="memory.a", evidence=(told.state.page(page).handle,))
        told.tell(e.Staged(txn=txn, proposal=proposal, value=f"v{txn}"))
        told.tell(e.Committed(txn=txn))
    state = told.state
    assert told.tell(e.PageErased(page=gone, digest="d")) == 1
    assert [page.seq for page in state.pages if page.erased] == [gone]
    assert state.pins.keys() == state.preferences.keys() == state.from_task_log == {other}
    assert (state.resets, state.last_reset) == ([other], other)
    assert [(each.first, each.last) for each in state.renditions] == [(other, other), spans[0], spans[3]]
    assert state.lines == [lines[0], IndexLine(*spans[1]), IndexLine(*spans[2]), lines[3]]
    assert [write.value for write in state.fields["memory.a"].writes] == ["v1"]
    assert state.fields["memory.a"].version == 2
    assert told.tell(e.PageErased(page=gone, digest="d")) == 0
    before = state.changes
    forget_page(state, e.PageErased(page=10_000, digest="d"))
    assert state.changes == before + 1


def test_a_plan_that_a_model_stated_as_the_system_becomes_its_own_words(told):
    plan = told.page(PLAN, pt.Role.SYSTEM)
    told.tell(e.PlanSet(page=plan, version=1))
    wishes = [told.page(PREFERENCE, pt.Role.SYSTEM) for _ in range(2)]
    for wish in wishes:
        told.tell(e.Preferred(page=wish))
    state = told.state

    def commit(field):
        txn = state.next_txn
        told.tell(e.Staged(txn=txn, proposal=Proposal(field=field), value="v"))
        told.tell(e.Committed(txn=txn))
        return [(page.role is pt.Role.USER, page.synthetic, page.tokens) for page in state.pages]

    host, model = (False, False, 10), (True, True, 42)
    told.tell(e.Staged(txn=0, proposal=Proposal(field="plan"), value="v"))
    told.tell(e.Rejected(txn=0, reason=DestructiveOp()))
    assert state.page(plan).role is pt.Role.SYSTEM
    assert commit("summary") == [host, host, host]
    assert commit("plan") == [model, host, host]
    assert commit("preference") == [model, host, model]
    assert commit("plan") == [model, host, model]
    assert not state.is_authoritative(state.page(plan))
    assert state.is_authoritative(state.page(wishes[0]))


def test_rules_and_the_hosts_own_voice_are_authoritative(told):
    pages = [told.system(), told.page(role=pt.Role.DEVELOPER), told.page(), told.page(role=pt.Role.ASSISTANT)]
    assert [told.state.is_authoritative(told.state.page(page)) for page in pages] == [True, True, False, False]
    told.tell(e.Pinned(page=pages[3]))
    assert told.state.is_authoritative(told.state.page(pages[3]))


def test_a_call_whose_only_result_is_a_rule_stays_what_it_is(told):
    unit = tuple(map(told.state.page, (told.answer("a"), told.result("a"))))
    told.tell(e.Pinned(page=unit[1].seq))
    assert told.state.path(unit) == (FULL,)


def test_a_result_that_was_withdrawn_leaves_its_call_open_and_an_erased_call_is_not_waited_for(told):
    one = told.answer("a")
    result = told.result("a")
    two = told.answer("b")
    assert [page.seq for page, _ in told.state.open_calls()] == [two]
    told.tell(e.Unpinned(page=result, withdrawn=True))
    assert [page.seq for page, _ in told.state.open_calls()] == [one, two]
    told.tell(e.PageErased(page=one, digest="d"))
    assert [page.seq for page, _ in told.state.open_calls()] == [two]


def test_the_first_page_of_a_session_belongs_to_its_first_turn_and_no_turn_has_no_beginning(told):
    ask = told.page()
    turn = told.answer()
    assert told.state.start_of_turns(1) == ask == 1
    told.page()
    assert told.state.start_of_turns(0) is None
    for page in (ask, turn, told.state.head):
        told.tell(e.Unpinned(page=page, withdrawn=True))
    told.tell(e.Unpinned(page=turn + 2, withdrawn=True))
    assert told.state.start_of_turns(1) is None


def test_rules_outlive_the_turn_in_which_they_were_stated_until_they_are_talk(told):
    ask, stated = told.page(), told.page(CONSTRAINT, pt.Role.SYSTEM)
    told.tell(e.Pinned(page=stated))
    turn = told.answer("a")
    both = told.page(EVIDENCE, pt.Role.TOOL, answers=("elsewhere", "a"))

    def belonging():
        return [told.state.pages[at].seq for at in told.state.belonging(ask, told.state.head)]

    assert belonging() == [ask, turn, both]
    told.tell(e.Unpinned(page=stated))
    assert belonging() == [ask, stated, turn, both]


def test_either_of_two_lines_stands_for_its_pages(told):
    pages = [told.page() for _ in range(3)]
    told.fold(dict.fromkeys(pages, FULL), [IndexLine(pages[0], pages[0]), IndexLine(pages[2], pages[2])])
    assert [told.state.level_of(page) for page in told.state.pages[:3]] == [POINTER, FULL, POINTER]


def test_talk_that_is_said_twice_has_no_twin_among_the_rules(told):
    told.page(digest="same")
    assert told.tell(e.Pinned(page=told.page(digest="same"))) == 0


def test_the_notes_of_a_state_are_those_of_its_board(told):
    told.tell(e.NoteAdded(note=pt.ContextMessage.system("os", "linux")))
    assert [note.content for note in told.state.notes.values()] == ["linux"]
    told.tell(e.NoteRetracted(key="os"))
    assert told.state.notes == {}


def test_undoing_from_a_turn_to_a_page_takes_both_with_their_forms(told):
    first = told.answer()
    second = told.answer()
    last = told.page()
    for page in (first, second, last):
        told.tell(e.RenditionAdmitted(first=page, last=page, level=COMPRESSED, digest="r", tokens=3, txn=0))
    told.tell(e.TurnsUndone(first=second, last=last))
    assert told.state.turns == [first]
    assert [each.first for each in told.state.renditions] == [first]
