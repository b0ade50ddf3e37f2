"""Which forms a context wishes for: of large rules, and of large runs that only their counts stand for."""

import pytest

import pageturn as pt
from tests.sessions import Letters, call, open_session

STRUCTURED = pt.ResidencyLevel.STRUCTURED


def begun(*messages, **options):
    session = open_session(counter=Letters(), policy=pt.Reset(100_000), **options)
    session.extend([*messages, pt.user("Fix src/auth.py")])
    return session


def folded(session):
    """A context that had to be folded, so that everything old stands in a line."""
    session.choose(pt.Reset(3_000))
    return session.derive()


def read(session, number, letters):
    session.derive()
    asked = call(number, "read")
    session.extend([pt.assistant("reading", asked), pt.tool_result(asked, "x" * letters)])


def run(letters, **options):
    """A session with a run of three reads that will stand in a line."""
    session = begun(**options)
    for number in range(3):
        read(session, number, letters if not number else 1_000)
    session.derive()
    session.extend([pt.assistant("now"), pt.user("Go on")])
    return session


def line_of(context):
    (line,) = (each.line for each in context.layout.placements if each.line is not None)
    return line


def run_of(size):
    """A session whose run has so many bytes."""
    session = run(1_000)
    line = line_of(folded(session))
    return run(1_000 + size - session.reader.state().size_between(line.first, line.last))


@pytest.mark.parametrize(("tokens", "is_wished"), [(399, False), (400, True)])
def test_a_rule_is_wished_for_in_fewer_words_from_so_many_tokens_on(tokens, is_wished):
    session = begun(pt.system("r" * tokens))
    context = folded(session)
    rule = context.explain(session.reader.pages()[0].handle)
    assert (rule.level, rule.tokens) == (pt.ResidencyLevel.FULL, tokens)
    wish = (rule.handle, STRUCTURED, f"a rule of {tokens} tokens has no shorter form")
    assert [(each.handle, each.level, each.reason) for each in context.wanted] == [wish] * is_wished


@pytest.mark.parametrize("of", ["a long message", "a rule that stands in a shorter form"])
def test_nothing_else_is_wished_for_in_fewer_words(of):
    session = begun()
    if of == "a long message":
        session.append(pt.user("u" * 900))
    else:
        session.pin("r" * 2_900, structured="r" * 500)
    context = folded(session)
    assert context.wanted == ()
    assert any(each.tokens >= 400 for each in context.layout.placements)


@pytest.mark.parametrize(("size", "is_wished"), [(3_999, False), (4_000, True)])
def test_a_run_is_wished_for_as_a_summary_from_so_many_bytes_on(size, is_wished):
    session = run_of(size)
    context = folded(session)
    line = line_of(context)
    pages = session.reader.state().between(line.first, line.last)
    wish = (
        f"{pages[0].handle}..{pages[-1].handle}",
        STRUCTURED,
        f"of a run of {size:,} bytes only the counts are shown",
    )
    assert [(each.handle, each.level, each.reason) for each in context.wanted] == [wish] * is_wished


def test_a_rule_behind_a_run_is_wished_for_too():
    session = run(3_000)
    session.pin("r" * 500)
    assert ["run" in wish.reason for wish in folded(session).wanted] == [True, False]


def test_a_policy_that_wants_no_summaries_wishes_for_none():
    session = run(3_000)
    session.choose(pt.Paged.thrifty(250))
    context = session.derive()
    assert line_of(context)
    assert context.wanted == ()


def test_what_a_reset_covers_is_not_wished_for():
    session = run(3_000)
    session.reset("Three files were read.", force=True)
    context = folded(session)
    assert line_of(context)
    assert context.wanted == ()


def test_a_context_that_is_not_folded_wishes_for_nothing():
    session = run(3_000)
    assert folded(session).wanted
    session.append(pt.assistant("so it is"))
    context = session.derive()
    assert context.fold is None
    assert line_of(context)
    assert context.wanted == ()
