"""Sessions for tests: a clock that ticks by itself, and randomness that repeats."""

import random
from datetime import UTC, datetime, timedelta

import pageturn as pt


class Clock:
    """Every look is a second later."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(seconds=1)
        return self.now


def open_session(url=":memory:", *, id="s", seed=1, **options):
    return pt.Session.open(url, id=id, clock=Clock(), entropy=random.Random(seed).randbytes, **options)


def reopened(session, **options):
    """The same session, as another process would find it."""
    return open_session(session._journal.store, id=session.id, **{"scope": session.scope, **options})


def call(number, name="bash", arguments="{}"):
    return pt.ToolCall(id=f"c{number}", name=name, arguments=arguments)


def take_turn(session, number):
    """A user message, a call, its result."""
    session.append(pt.user(f"question {number}"))
    session.append(pt.assistant(f"answer {number}", call(number)))
    return session.append(pt.tool_result(f"c{number}", f"result {number}"))


def texts(session):
    return [
        message.text or "".join(str(result.content) for result in message.tool_results)
        for message in session.messages()
    ]
