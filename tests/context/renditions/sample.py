"""A short session in which everything happens that a rendition has to deal with."""

from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user


def sample_session() -> tuple[Message, ...]:
    """A login bug: rules, a task, a test run that fails, a file, an edit, and a run that passes."""
    run = ToolCall(id="call_1", name="bash", arguments='{"command":"pytest tests/test_login.py -q"}')
    read = ToolCall(id="call_2", name="read_file", arguments='{"path":"src/auth/login.py"}')
    edit = ToolCall(
        id="call_3",
        name="edit_file",
        arguments='{"path":"src/auth/login.py","old":"token[\\"exp\\"]","new":"token.get(\\"exp\\", 0)"}',
    )
    again = ToolCall(id="call_4", name="bash", arguments=run.arguments)
    return (
        system("You are a coding agent. Work in small steps and run the tests after every edit.\nNever push to main."),
        user("Login returns 500 since yesterday. Find out why and mend it."),
        assistant("I will run the login tests first.", run),
        tool_result(run, _FAILING_RUN, is_error=True),
        assistant("The token has no expiry. Let me read the code.", read),
        tool_result(read, _SOURCE),
        assistant(edit),
        tool_result(edit, "edited src/auth/login.py"),
        assistant("And the tests again.", again),
        tool_result(again, _PASSING_RUN),
        assistant("Tokens issued before 3.2 have no `exp`. src/auth/login.py now treats them as expired."),
    )


_FAILING_RUN = "\n".join(
    [
        *(f"tests/test_login.py::test_session_{number:02} PASSED [{number * 3:3}%]" for number in range(1, 31)),
        "tests/test_login.py::test_old_token FAILED [100%]",
        "E   KeyError: 'exp'",
        "src/auth/login.py:31: KeyError",
        "Traceback (most recent call last):",
        '  File "src/auth/login.py", line 31, in is_expired',
        "1 failed, 30 passed in 2.41s",
    ]
)

_PASSING_RUN = "\n".join(
    [
        *(f"tests/test_login.py::test_session_{number:02} PASSED [{number * 3:3}%]" for number in range(1, 31)),
        "tests/test_login.py::test_old_token PASSED [100%]",
        "31 passed in 2.38s",
    ]
)

_SOURCE = '''"""Login: tokens, sessions and their expiry."""

import time

from auth.store import SessionStore
from auth.tokens import decode_token


class LoginService:
    """Issues sessions for tokens that are still valid."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store

    def login(self, raw_token: str) -> str:
        token = decode_token(raw_token)
        if is_expired(token):
            raise PermissionError("token expired")
        return self.store.open_session(token["sub"])

    def logout(self, session_id: str) -> None:
        self.store.close_session(session_id)


def is_expired(token: dict[str, int]) -> bool:
    """Whether the token's time is over."""
    return token["exp"] < time.time()
'''
