"""Appends, derives, searches and reads one very large tool result, and prints the most memory that took beside it, in times its size.

In a process of its own, since a process does not give back what it once took: `python -m tests.stores.large FILE SHAPE BYTES [portable]`,
with the tokenizer of a plain installation where the last word says so. FILE is a path, or `memory` for a store in memory.
"""

import sys
from base64 import b64encode
from pathlib import Path
from random import Random

import pageturn as pt

_LINES = {
    "ascii": "def step_%d(value): return value + other_%d  # and some more words\n",
    "cjk": "第%d步：把数值加上第%d个，然后返回结果。\n",
}
_OBJECT = '{"id":%d,"v":[77,2]}'
_DIFFERENT = 1_000  # lines
_RUNS = {"letter": "a", "dash": "-", "accent": "é", "bracket": "["}  # one sign without an end


def memory(name: str) -> int:
    """The bytes that this process has in memory (VmRSS), or the most that it had (VmHWM)."""
    told = Path("/proc/self/status").read_text().partition(f"{name}:")[2]
    return int(told.split()[0]) * 1_024


def work(session: pt.Session, content: str) -> None:
    asked = pt.ToolCall(id=f"c{len(content)}", name="read", arguments='{"path": "large.txt"}')
    session.append(pt.assistant(asked))
    page = session.append(pt.tool_result(asked, content))
    assert session.derive().tokens <= 20_000
    session.append(pt.assistant("ok"))
    assert page.handle in {hit.handle for hit in session.recall("step_77 第77步 77").hits}
    assert session.resolve(page.handle).text == content


def content_of(shape: str, size: int) -> str:
    """A text of about so many bytes."""
    match shape:
        case "numbers":  # of which each is another word to the index
            return "".join([f"step {at} took {at * 7919 % 1_000_003} ms\n" for at in range(size // 24)])
        case "json":  # one line, without a blank
            return f"[{','.join(_OBJECT % at for at in range(size // 24))}]"
        case "letter" | "dash" | "accent" | "bracket":
            sign = _RUNS[shape]
            return "77 " + sign * (size // len(sign.encode()))
        case "base64":
            return "77 " + b64encode(Random(1).randbytes(size * 3 // 4)).decode()
        case _:
            lines = "".join([_LINES[shape] % (at, at) for at in range(_DIFFERENT)])
            return lines * max(1, size // len(lines.encode()))


def main(path: str, shape: str, size: int, tokenizer: str = "") -> None:
    if tokenizer == "portable":
        sys.modules["splintr"] = None  # type: ignore[assignment]
    url = ":memory:" if path == "memory" else f"sqlite:{path}?durability=normal"
    with pt.Session.open(url, policy=pt.Paged(20_000)) as session:
        session.append(pt.user("Fix src/auth.py"))
        work(session, content_of(shape, 60_000))  # so that everything is loaded that is loaded once
        text = content_of(shape, size)
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the most from here on
        work(session, text)
        sys.stdout.write(f"{(memory('VmHWM') - before) / len(text.encode())}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
