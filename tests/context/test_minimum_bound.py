"""The bound by which most pins are let in without a look at everything: it never lets in what does not fit, and refuses nothing else."""

import random

import pytest

import pageturn as pt
from pageturn.context.minimum_bound import MinimumBound
from tests.long import examples
from tests.sessions import call, open_session

_TOOLS = ("read", "ls", "edit")


def played(seed, steps=150):
    """What came of a random session with many pins: of each whether it was let in, or what it needed; and the last context."""
    chance = random.Random(seed)
    budget = chance.choice((600, 1_500, 6_000))
    policy = chance.choice((pt.Paged, pt.Incremental, pt.Reset))(budget)
    session = open_session(policy=policy, **chance.choice(({}, {"recall": None})))
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    waiting, told = [], []
    for number in range(steps):
        match chance.randrange(10):
            case 0 | 1:
                asked = call(
                    number, chance.choice(_TOOLS), f'{{"path": "src/{"ab" * chance.randrange(9)}/f{number}.py"}}'
                )
                session.append(pt.assistant("I look.", asked))
                waiting.append(asked)
            case 2 | 3 if waiting:
                asked = waiting.pop(chance.choice((-1, -1, 0)))
                session.append(pt.tool_result(asked, "a line of it\n" * chance.choice((1, 5, 60))))
            case 4:
                session.append(pt.user("please go on " * chance.randrange(1, 9)))
            case 5 | 6:
                told += derived(session)
                session.append(pt.assistant("done"))
            case 7:
                pages = session.reader.pages()
                told.append(pinned(session, pages[-chance.randrange(1, min(len(pages), chance.choice((3, 60))) + 1)]))
            case _:
                told.append(pinned(session, f"Rule {number}" + " and so on" * chance.randrange(4)))
                if session.reader.pins and chance.random() < 0.3:
                    session.unpin(session.reader.pins[0])
    return [*told, *derived(session)]


def pinned(session, what):
    try:
        return session.pin(what).handle
    except pt.BudgetTooSmall as error:
        return error.needed_tokens


def derived(session):
    """A context; too small a budget can only come of what is no pin."""
    try:
        return [session.derive().tokens]
    except pt.BudgetTooSmall as error:
        return [error.needed_tokens]


@pytest.mark.parametrize("seed", range(examples(8, whole=200)))
def test_the_same_pins_are_accepted_as_by_looking_at_everything(seed, monkeypatch):
    short = played(seed)
    monkeypatch.setattr(MinimumBound, "with_rule", lambda *_: None)
    assert short == played(seed)


def test_most_pins_are_accepted_by_the_bound(monkeypatch):
    asked, with_rule = [], MinimumBound.with_rule
    monkeypatch.setattr(MinimumBound, "with_rule", lambda *given: asked.append(with_rule(*given)) or asked[-1])
    for seed in range(5):
        played(seed)
    assert sum(1 for each in asked if each is not None) > len(asked) / 5


@pytest.mark.parametrize("is_folded", [False, True])
def test_pages_are_pinned_without_a_look_at_everything(monkeypatch, is_folded):
    asked, with_rule = [], MinimumBound.with_rule
    monkeypatch.setattr(MinimumBound, "with_rule", lambda *given: asked.append(with_rule(*given)) or asked[-1])
    session = open_session(policy=pt.Paged(40_000))
    pages = [session.append(pt.user(f"note {number}: leave file {number} alone")) for number in range(40)]
    if is_folded:
        for number in range(60):
            asked_for = call(number, "read", f'{{"path": "src/f{number}.py"}}')
            session.extend([pt.assistant("I look.", asked_for), pt.tool_result(asked_for, "a line of it\n" * 300)])
        assert session.derive().fold is not None
        session.append(pt.assistant("done"))
    for page in pages:
        session.pin(page)
    assert [each for each in asked if each is None] == [None]  # the first, behind which there is a bound
