"""A call that is still open stays a call, however much stands in it, as long as there is room."""

import pytest

import pageturn as pt
from pageturn.context.pairing import PENDING
from tests.context.checks import check_pairs
from tests.sessions import call, open_session

SCRIPT = pt.to_json({"command": "\n".join(f"scp build/part_{n}.tar host_{n}:/srv/releases" for n in range(40))})


def read_on(session, numbers):
    """An agent that reads files meanwhile; the contexts that it was given."""
    for number in numbers:
        context = session.derive(budget_tokens=2_500)
        check_pairs(context.messages)
        yield context
        read = call(number, "read", f'{{"path": "src/part_{number}.py"}}')
        session.append(pt.assistant(f"reading {number}", read))
        session.append(pt.tool_result(read, f"value_{number} = compute_{number}()\n" * 60))


@pytest.mark.parametrize(
    "policy", [pt.Legacy(), pt.Reset(2_500), pt.Incremental(2_500), pt.Paged(2_500), pt.Paged.thrifty(2_500)]
)
@pytest.mark.parametrize("can_recall", [True, False])
def test_a_long_call_that_nobody_has_answered_stays_a_call(policy, can_recall):
    session = open_session(policy=policy, **({} if can_recall else {"recall": None}))
    waiting = call("open", arguments=SCRIPT.decode())
    session.append(pt.user("Copy the parts to their hosts."))
    session.derive()
    session.append(pt.assistant("copying", waiting))
    page = session.reader.pages()[-1]
    for context in read_on(session, range(24)):
        calls = [each for message in context.messages for each in message.tool_calls if each.id == waiting.id]
        assert calls == [waiting]
        answers = [each for message in context.messages for each in message.tool_results]
        assert [each.content for each in answers if each.tool_call_id == waiting.id] == [PENDING]
    assert session.reader.folds
    assert context.explain(page.handle).why == "open"
    session.append(pt.tool_result(waiting, "copied"))
    *_, later = read_on(session, range(24, 48))
    assert not any(each.id == waiting.id for message in later.messages for each in message.tool_calls)
