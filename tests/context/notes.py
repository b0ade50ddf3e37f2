"""What the tests of notes share: a session that has begun, what a context tells, and how to come to a fold."""

import pageturn as pt
from pageturn.values.notes import NoteDecision
from tests.context.checks import check_notes
from tests.sessions import open_session

Note = pt.ContextMessage
Decision = NoteDecision
SYSTEM, SESSION, CONVERSATION, SUFFIX = pt.ContextMessageTarget


def begun(**options):
    session = open_session(**options)
    session.extend([pt.system("You are careful."), pt.user("Fix the login.")])
    return session


def answered(session, words="done"):
    """Derive, look at it, and let a model answer."""
    context = session.derive()
    check_notes(session, context)
    session.append(pt.assistant(words))
    return context


def said(context):
    return [message.text for message in context.messages]


def outcomes(context):
    return {(outcome.key, outcome.band, outcome.decision) for outcome in context.notes}


def decisions(context):
    return {outcome.key: outcome.decision for outcome in context.notes}


def grow(session, number, lines=60):
    read = pt.ToolCall(id=f"g{number}", name="read", arguments=f'{{"path": "src/part_{number}.py"}}')
    session.append(pt.assistant(f"reading {number}", read))
    session.append(pt.tool_result(read, f"value_{number} = compute_{number}()\n" * lines))


def until_fold(session, start=0):
    """Work until a fold comes; its context."""
    for number in range(start, start + 60):
        context = session.derive()
        if context.fold is not None:
            session.append(pt.assistant("folded"))
            return context
        grow(session, number)
    raise AssertionError("no fold came")
