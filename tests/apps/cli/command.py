"""The command in the process of the test: the function that the installed command calls, with arguments and streams of its own.

A process for each takes a third of a second, most of it to load what the next one loads again. Those that show what only a process
shows (its streams, its letters, a signal) are in test_main, test_terminal and test_imports.
"""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from pageturn.__main__ import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    with patch.object(sys, "argv", ["pageturn", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
