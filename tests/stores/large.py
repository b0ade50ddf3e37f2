"""Appends, derives, searches and reads one very large tool result, and prints the most memory that took beside it, in times its size.

In a process of its own, since a process does not give back what it once took: `python -m tests.stores.large FILE LETTERS BYTES`.
"""

import sys
from pathlib import Path

import pageturn as pt

_LINES = {
    "ascii": "def step_%d(value): return value + other_%d  # and some more words\n",
    "cjk": "第%d步：把数值加上第%d个，然后返回结果。\n",
}
_DIFFERENT = 1_000  # lines; the index takes memory for each different word of a document


def most_memory() -> int:
    """The most bytes that this process ever had in memory."""
    told = Path("/proc/self/status").read_text().partition("VmHWM:")[2]
    return int(told.split()[0]) * 1_024


def work(session: pt.Session, content: str) -> None:
    asked = pt.ToolCall(id=f"c{len(content)}", name="read", arguments='{"path": "large.txt"}')
    session.append(pt.assistant(asked))
    page = session.append(pt.tool_result(asked, content))
    assert session.derive().tokens <= 20_000
    session.append(pt.assistant("ok"))
    assert page.handle in {hit.handle for hit in session.recall("step_77 第77步").hits}
    assert session.resolve(page.handle).text == content


def main(path: str, letters: str, size: int) -> None:
    lines = "".join([_LINES[letters] % (at, at) for at in range(_DIFFERENT)])
    times = size // len(lines.encode())
    with pt.Session.open(f"sqlite:{path}?durability=normal", policy=pt.Paged(20_000)) as session:
        session.append(pt.user("Fix src/auth.py"))
        work(session, lines)  # so that everything is loaded that is loaded once
        text = lines * times
        before = most_memory()
        work(session, text)
        sys.stdout.write(f"{(most_memory() - before) / (len(lines.encode()) * times)}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
