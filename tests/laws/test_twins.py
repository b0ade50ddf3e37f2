"""Each check fails on a twin of the library that breaks its law: one place is broken at a time, and the checks must notice within some sessions."""

import sys
from contextlib import suppress
from dataclasses import replace
from functools import partialmethod

import msgspec

import pageturn as pt
from pageturn import session as sessions
from pageturn.context import candidates, frozen_prefix, laws, pairing, working_set
from pageturn.context import derive as deriving
from pageturn.context import fold as folding
from pageturn.context.token_limits import TokenLimits
from pageturn.formats import shape
from pageturn.journal import apply as applying
from pageturn.journal import state as states
from pageturn.journal.journal import Journal
from pageturn.journal.state import SessionState
from pageturn.stores.memory import MemoryStore
from pageturn.tokens.counters import counter_for
from pageturn.values import fencing
from pageturn.values.layout import Why
from tests.laws.acts import Act, plot
from tests.laws.driver import Driver

_WITHIN = 250  # sessions
_ENOUGH = 2  # of them that a twin breaks
_REPLY = {"lines": 1, "thinking": None, "ids": "new", "usage": False, "asks": None}
_ASKED = {"tools": 0, "model": None, "share": None}


def noticed(monkeypatch, law, saying, *acts):
    """Whether the checks of a law find something in a session that does this, or in some random one, and say so in these words.

    In the same session of the library as it is, they do not.
    """
    given = (
        [replace(plot(0), policy=pt.Paged(9_000), model="gpt-5", recall=True, budget=9_000, acts=acts)] if acts else []
    )
    found = []
    for each in given or map(plot, range(_WITHIN)):
        found += [each] if _says(each, law, saying) else []
        if len(found) == _ENOUGH:
            break
    monkeypatch.undo()
    return any(not _says(each, law, saying) for each in found)


def _says(plot, law, saying):
    driver = Driver(plot)
    with suppress(Exception):  # a broken library may well break down
        driver.play()
    return any(found.law == law and saying in found.what for found in driver.violations)


def without_law(monkeypatch, code):
    assert any(law.code == code for law in laws.LAWS)
    monkeypatch.setattr(laws, "LAWS", tuple(law for law in laws.LAWS if law.code != code))


def everywhere(monkeypatch, name, old, new):
    """Put something in the place of a function wherever it was imported."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("pageturn") and getattr(module, name, None) is old:
            monkeypatch.setattr(module, name, new)


def altered(monkeypatch, change):
    """Every context is changed before anybody sees it."""
    derive = pt.Session.derive
    monkeypatch.setattr(pt.Session, "derive", lambda self, *given, **options: change(derive(self, *given, **options)))


# -- journal


def test_an_undo_that_takes_nothing_back(monkeypatch):
    monkeypatch.setattr(pt.Session, "undo", lambda self, turns=1: None)
    assert noticed(monkeypatch, "journal", "undo left the turn")


def test_erasures_that_nobody_notices(monkeypatch):
    monkeypatch.setattr(Journal, "notice_erased", lambda self: [])
    say = Act("say", {"salt": 1, "kind": "task", "lines": 2})
    turn = (say, Act("derive", _ASKED), Act("reply", {"salt": 2, "calls": 0, **_REPLY}))
    erased = Act("peer", {"salt": 3, "does": "erase", "ref": 0})
    assert noticed(monkeypatch, "journal", "is still sent", *turn, erased, Act("derive", _ASKED))


def test_an_erase_that_keeps_the_words(monkeypatch):
    monkeypatch.setattr(pt.Session, "erase", lambda self, what: None)
    assert noticed(monkeypatch, "journal", "was erased, and resolve gives")


def test_a_journal_that_gives_back_other_words(monkeypatch):
    resolve = sessions.resolve

    def shortened(*given, **options):
        found = resolve(*given, **options)
        return (
            found._replace(text=found.text[:-1])
            if isinstance(found, tuple)
            else (msgspec.structs.replace(found, text=found.text[:-1]) if isinstance(found, pt.Resolved) else found)
        )

    monkeypatch.setattr(sessions, "resolve", shortened)
    assert noticed(monkeypatch, "journal", "resolves to other words")


# -- rules


def test_rules_that_are_like_any_other_page(monkeypatch):
    why = candidates._why
    monkeypatch.setattr(candidates, "_why", lambda *given: Why.ROOM if (is_why := why(*given)) is Why.RULE else is_why)
    assert noticed(monkeypatch, "rules", "is missing")


def test_rules_that_come_again_are_shown_again(monkeypatch):
    monkeypatch.setattr(SessionState, "repeats_rule", lambda self, page: False)
    again = (Act("system", {"salt": salt, "lines": 2, "repeat": True}) for salt in (1, 2))
    assert noticed(monkeypatch, "rules", "times", *again, Act("derive", _ASKED))


def test_an_opening_prompt_that_stays(monkeypatch):
    monkeypatch.setattr(applying, "_system", lambda state, seq, entry: None)
    monkeypatch.setitem(applying._APPLY, applying.e.SystemReplaced, lambda state, seq, entry: None)
    assert noticed(monkeypatch, "rules", "which set_system replaced")


def test_a_pin_that_does_not_count(monkeypatch):
    monkeypatch.setattr(deriving.Deriver, "require_room", lambda self, *given: None)
    assert noticed(monkeypatch, "rules", "a pin was accepted")


def test_a_plan_that_is_like_any_other_page(monkeypatch):
    why = candidates._why
    monkeypatch.setattr(candidates, "_why", lambda *given: Why.ROOM if (is_why := why(*given)) is Why.PLAN else is_why)
    assert noticed(monkeypatch, "rules", "the plan in force")


# -- pairs


def test_open_calls_without_a_pending_result(monkeypatch):
    monkeypatch.setattr(
        pairing.Pairing, "messages", property(lambda self: (*self._messages, *(m for m, _ in self._held)))
    )
    assert noticed(monkeypatch, "pairs", "have no result")


def test_calls_that_are_not_as_they_were_made(monkeypatch):
    def change(context):
        def shortened(part):
            return msgspec.structs.replace(part, arguments="{}") if isinstance(part, pt.ToolCall) else part

        messages = tuple(msgspec.structs.replace(m, content=tuple(map(shortened, m.content))) for m in context.messages)
        return msgspec.structs.replace(context, messages=messages)

    altered(monkeypatch, change)
    assert noticed(monkeypatch, "pairs", "is not as the model made it")


def test_calls_that_are_never_abandoned(monkeypatch):
    monkeypatch.setattr(states, "ABANDONED", 10**9)
    acts = (Act("reply", {"salt": 1, "calls": 1, **_REPLY}), Act("many", {"salt": 2, "turns": 34}))
    assert noticed(monkeypatch, "pairs", "answered, abandoned or gone", *acts)


def test_open_calls_that_the_host_is_not_told_of(monkeypatch):
    monkeypatch.setattr(pt.Session, "pending", lambda self: ())
    assert noticed(monkeypatch, "pairs", "is not in pending()")


# -- budget


def test_the_counter_of_another_model(monkeypatch):
    monkeypatch.setattr(sessions, "counter_for", lambda model: counter_for("gpt-5"))
    assert noticed(monkeypatch, "budget", "are charged")


def test_tools_that_are_not_charged(monkeypatch):
    count = deriving.Deriver._count
    monkeypatch.setattr(deriving.Deriver, "_count", lambda self, *given: (count(self, *given)[0], 0))
    assert noticed(monkeypatch, "budget", "are charged")


def test_a_smallest_budget_that_is_not_the_smallest(monkeypatch):
    init = pt.BudgetTooSmall.__init__
    monkeypatch.setattr(
        pt.BudgetTooSmall,
        "__init__",
        lambda self, *, needed_tokens, **more: init(self, needed_tokens=needed_tokens + 9, **more),
    )
    assert noticed(monkeypatch, "budget", "were enough")


def test_a_smallest_budget_that_does_not_work(monkeypatch):
    init = pt.BudgetTooSmall.__init__
    monkeypatch.setattr(
        pt.BudgetTooSmall,
        "__init__",
        lambda self, *, needed_tokens, **more: init(self, needed_tokens=needed_tokens - 9, **more),
    )
    assert noticed(monkeypatch, "budget", "were said to be enough")


def test_a_budget_that_nobody_keeps(monkeypatch):
    monkeypatch.setattr(TokenLimits, "limit", lambda self, policy, model, budget: 100_000)
    assert noticed(monkeypatch, "budget", "were allowed")


# -- people


def test_no_law_of_the_task(monkeypatch):
    without_law(monkeypatch, "task")
    assert noticed(monkeypatch, "people", "the task")


def test_no_law_of_people(monkeypatch):
    without_law(monkeypatch, "people")
    assert noticed(monkeypatch, "people", "of a person, is not verbatim")


# -- pointers


def test_handles_without_recall(monkeypatch):
    for maker in (working_set.WorkingSet, folding.FormMaker, folding.IndexLines):
        monkeypatch.setattr(maker, "__init__", partialmethod(_shows_handles, maker.__init__))
    assert noticed(monkeypatch, "pointers", "and there is no recall tool")


def _shows_handles(self, init, *given, **options):
    init(self, *given, **options | {"shows_handles": True})


def test_handles_that_mean_nothing(monkeypatch):
    monkeypatch.setattr(folding.FormMaker, "handle", lambda self, page: f"p{page.seq}-aaaa")
    assert noticed(monkeypatch, "pointers", "no handle of this session")


def test_old_steps_that_cannot_leave(monkeypatch):
    why = candidates._why
    monkeypatch.setattr(candidates, "_why", lambda *given: Why.PLAN if (is_why := why(*given)) is Why.ROOM else is_why)
    assert noticed(monkeypatch, "pointers", "tokens needed, though")


# -- order


def test_pages_in_another_order(monkeypatch):
    steps = frozen_prefix.FrozenPrefixMaker._missing_steps

    def reversing(self, placed):
        if isinstance(placed, list):  # those that are about to be shown, not those that are told of
            placed.reverse()
        return steps(self, placed)

    monkeypatch.setattr(frozen_prefix.FrozenPrefixMaker, "_missing_steps", reversing)
    assert noticed(monkeypatch, "order", "stands behind")


def test_a_page_that_stands_twice(monkeypatch):
    altered(
        monkeypatch, lambda context: msgspec.structs.replace(context, messages=(*context.messages, *context.messages))
    )
    assert noticed(monkeypatch, "order", "stands twice")


# -- reopening, stored


def test_a_context_that_depends_on_what_was_derived_before(monkeypatch):
    limit = TokenLimits.limit

    def drifting(self, *given):
        self._drift = getattr(self, "_drift", 0) + 1
        return limit(self, *given) - self._drift

    monkeypatch.setattr(TokenLimits, "limit", drifting)
    assert noticed(monkeypatch, "reopening", "opened again")


def test_a_store_that_loses_what_came_last(monkeypatch):
    records = MemoryStore.records
    monkeypatch.setattr(
        MemoryStore, "records", lambda self, *given, **more: iter([*records(self, *given, **more)][:-1])
    )
    assert noticed(monkeypatch, "stored", "too many or too few")


# -- escaping


def test_nothing_is_escaped(monkeypatch):
    everywhere(monkeypatch, "escaped", fencing.escaped, lambda text, *more: text)
    assert noticed(monkeypatch, "escaping", "has a bare")


def test_a_model_that_speaks_as_the_system(monkeypatch):
    def change(context):
        told = [msgspec.structs.replace(m, role=pt.Role.SYSTEM) if m.synthetic else m for m in context.messages]
        return msgspec.structs.replace(context, messages=tuple(told))

    altered(monkeypatch, change)
    assert noticed(monkeypatch, "escaping", "and no host said it")


# -- prefix


def test_folds_that_nobody_is_told_of(monkeypatch):
    altered(monkeypatch, lambda context: msgspec.structs.replace(context, fold=None))
    assert noticed(monkeypatch, "prefix", "and no fold says so")


def test_notes_that_cannot_be_taken_back(monkeypatch):
    retract = pt.Session.retract
    monkeypatch.setattr(pt.Session, "retract", lambda self, key, *, now=False: retract(self, key, now=False))
    note = {"key": "a", "band": "system", "lines": 1, "cooldown": 0, "once": False, "same": False}
    turn = (Act("inject", {"salt": 1, **note}), Act("derive", _ASKED), Act("reply", {"salt": 2, "calls": 0, **_REPLY}))
    assert noticed(
        monkeypatch,
        "prefix",
        "was taken back at once",
        *turn,
        Act("retract", {"ref": 0, "now": True}),
        Act("derive", _ASKED),
    )


# -- seen once


def test_no_law_of_what_is_new(monkeypatch):
    without_law(monkeypatch, "seen once")
    assert noticed(monkeypatch, "seen once", "are not whole")


# -- shape


def test_reasoning_that_stays_behind_a_change(monkeypatch):
    monkeypatch.setattr(folding.FoldMaker, "_without_stale_reasoning", lambda self, folded, *more: folded)
    assert noticed(monkeypatch, "shape", "not what it was made on")


def test_neighbours_of_one_role_that_are_not_joined(monkeypatch):
    turn = shape._turn

    def apart(shaped, role):
        made = turn(shaped, role)
        if made.pieces:
            made = shape.Turn(role)
            shaped.turns.append(made)
        return made

    monkeypatch.setattr(shape, "_turn", apart)
    assert noticed(monkeypatch, "shape", "roles_repeat")


def test_results_that_do_not_stand_first(monkeypatch):
    monkeypatch.setattr(shape.Turn, "put_results_first", lambda self: self.pieces.reverse())
    assert noticed(monkeypatch, "shape", "result")
