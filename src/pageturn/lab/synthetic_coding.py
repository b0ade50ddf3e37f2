"""Generates long synthetic sessions of a coding agent, for measuring without recordings.

A user asks for one change after the other. The agent searches, reads a few files at once, edits lines that it has read, runs
tests that fail at first, tries again, and reads again what has changed since it was read. Messages have times; now and then the user
is away for longer than any prompt cache lives. Everything is generated from a random seed, nothing was recorded; the share of results and
of names, and how often a call repeats an earlier result, are as in recorded sessions.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from pageturn.lab.traces import Trace
from pageturn.values.json import to_json
from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user

_NOUNS = (
    "invoice ledger session tenant cursor payload quota parcel voucher catalog webhook schema digest ticket".split()
)
_VERBS = "load merge parse verify rotate expire settle refund index resolve encode flush migrate throttle".split()
_PARTS = "core billing accounts search storage gateway workers reports".split()
_WORDS = (
    "the a an every each next last old new empty large first second value row list entry state time limit order caller reader "
    "writer is was must can may should keep give take wait stop hold read write send find sort count check split join before after "
    "until while because unless when since and or but not only again twice here there without with from into"
).split()
_COMPLAINTS = (
    "{name} in {path} gives back a stale {noun} after the second call, see {issue}.",
    "{issue}: {name} must not fail when the {noun} is empty. Please fix it in {path} and add a case to the tests.",
    "Since {commit} the {noun} from {name} is wrong for large inputs ({path}).",
    "Please make {name} in {path} accept a limit; {issue} has the details.",
)
_AWAY, _AT_HAND = (420, 5_400), (20, 150)  # seconds until the person writes again
_IS_AWAY = 0.2
_READS_IN_VAIN = 0.06  # of files that have not changed since they were read
_RULES = """You are a coding agent in the repository {repository}.
Never push to main. Never edit generated files under build/. Run the tests before you say that you are done.
Keep changes small, keep the style of the file, and name the issue in the message of every commit."""


class _File:
    """A file of the synthetic repository: its path, and the functions in it."""

    def __init__(self, path: str, functions: dict[str, list[str]]) -> None:
        self.path = path
        self.functions = functions
        self.is_known = False  # whether it was read in its present state

    @property
    def lines(self) -> list[str]:
        return [f'"""What {self.path} is for."""', "", *(line for body in self.functions.values() for line in body)]

    @property
    def numbered(self) -> str:
        return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(self.lines, start=1))


class _Task(NamedTuple):
    file: _File
    function: str
    issue: str


def coding_session(seed: int, turns: int = 200) -> Trace:
    """A session of about this many turns, the same for the same seed."""
    work = _Work(Random(f"coding:{seed}"))  # noqa: S311  # a lab, not a lock
    while work.turns < turns:
        work.do(work.task())
    return Trace(f"coding-{seed}-{turns}", "generated", tuple(work.messages), times=tuple(work.times))


class _Work:
    """The session so far."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.messages: list[Message] = []
        self.times: list[float] = []
        self.turns = 0
        self._now = 0.0
        self._calls = 0
        self._touched: list[_File] = []
        self.files = [self._file(part, noun) for part in _PARTS for noun in rng.sample(_NOUNS, 5)]
        self._say(system(_RULES.format(repository=f"acme/{rng.choice(_NOUNS)}-service")), 0, 0)

    # -- what the person asks

    def task(self) -> _Task:
        """The next request of the person; often about a file that was worked on before."""
        is_old = bool(self._touched) and self.rng.random() < 0.35
        file = self.rng.choice(self._touched if is_old else self.files)
        function = self.rng.choice(list(file.functions))
        task = _Task(file, function, f"{self.rng.choice(('SHOP', 'OPS', 'API'))}-{self.rng.randint(100, 9_999)}")
        text = self.rng.choice(_COMPLAINTS).format(
            name=function,
            path=file.path,
            issue=task.issue,
            noun=self.rng.choice(_NOUNS),
            commit=f"{self.rng.getrandbits(40):010x}",
        )
        self._say(user(f"{text} {self._prose(10, 160)}."), *(_AWAY if self.rng.random() < _IS_AWAY else _AT_HAND))
        return task

    def do(self, task: _Task) -> None:
        """Work until the tests pass."""
        self._grep(task.function)
        self._read([task.file, *self.rng.sample(self.files, self.rng.choice((0, 1, 1, 2, 3)))])
        for attempt in range(self.rng.choice((1, 1, 2, 2, 3))):
            if attempt:
                self._look_again(task)
            self._edit(task)
            self._test(task, fails=True)
        self._edit(task)
        self._test(task, fails=False)
        if self.rng.random() < 0.5:
            self._commit(task)
        self._speak(f"{task.function} in {task.file.path} does as {task.issue} asks now; the tests pass.")
        self._touched.append(task.file)

    # -- what the agent does

    def _look_again(self, task: _Task) -> None:
        """Before another attempt: read the file again, changed or not, or repeat an old call."""
        again = self.rng.choice([task.file, task.file, *self._touched[-3:]])
        self._read([again])
        if self.rng.random() < 0.3:
            self._grep(self.rng.choice(list(again.functions)))

    def _prose(self, least: int, most: int) -> str:
        """This many words that name nothing."""
        return " ".join(self.rng.choices(_WORDS, k=self.rng.randint(least, most)))

    def _grep(self, name: str) -> None:
        found = [
            f"{file.path}:{number}:{line}"
            for file in self.files
            for number, line in enumerate(file.lines, start=1)
            if name in line
        ]
        self._call(self._prose(10, 80), [("grep", {"pattern": name, "path": "src"}, "\n".join(found[:60]))])

    def _read(self, files: list[_File]) -> None:
        distinct = {file.path: file for file in files}.values()
        read = [file for file in distinct if not file.is_known or self.rng.random() < _READS_IN_VAIN]
        if read:
            text = self._prose(10, 80) if self.rng.random() < 0.5 else ""
            self._call(text, [("read_file", {"path": file.path}, file.numbered) for file in read])
        for file in read:
            file.is_known = True

    def _edit(self, task: _Task) -> None:
        body = task.file.functions[task.function]
        at = self.rng.randrange(1, max(2, len(body) - 3))
        old = body[at : at + self.rng.randint(2, 8)]
        new = [f"    {self.rng.choice(_NOUNS)}_limit = {self.rng.randint(10, 9_999)}  # {task.issue}", *old]
        body[at : at + len(old)] = new
        task.file.is_known = False
        arguments = {"path": task.file.path, "old_string": "\n".join(old), "new_string": "\n".join(new)}
        lines = task.file.numbered.splitlines()
        first = next(number for number, line in enumerate(lines) if line.endswith(new[0]))
        shown = "\n".join([f"The file {task.file.path} has been updated.", *lines[max(0, first - 2) : first + 6]])
        self._call(self._prose(20, 200), [("edit_file", arguments, shown)])

    def _test(self, task: _Task, *, fails: bool) -> None:
        suite = f"tests/{task.file.path.removeprefix('src/').replace('/', '/test_', 1)}"
        passed = [f"case {n}: {self._prose(5, 14)} ... ok" for n in range(self.rng.randint(2, 50))]
        tail = [f"{len(passed)} passed in {self.rng.uniform(0.2, 9):.2f}s"]
        if fails:
            line = self.rng.choice(task.file.functions[task.function]).strip()
            number = self.rng.randint(10, 400)
            tail = [
                f"{suite}::test_{task.function} FAILED",
                f"    {line}",
                f"{task.file.path}:{number}: in {task.function}",
                f"E   AssertionError: expected {self.rng.choice(_NOUNS)}_{self.rng.randint(1_000, 9_999)}, got None",
                f"FAILED {suite}::test_{task.function} - 1 failed, {len(passed)} passed",
            ]
        command = f"python -m pytest {suite} -q"
        self._call("", [("bash", {"command": command}, "\n".join([*passed, *tail]))], seconds=(3, 60))

    def _commit(self, task: _Task) -> None:
        made = f"{self.rng.getrandbits(40):010x}"
        command = f"git commit -am '{task.issue}: {task.function}'"
        self._call(
            "", [("bash", {"command": command}, f"[work {made}] {task.issue}: {task.function}\n 1 file changed")]
        )

    # -- messages and times

    def _call(
        self, text: str, made: list[tuple[str, dict[str, str], str]], *, seconds: tuple[float, float] = (0.2, 4)
    ) -> None:
        calls = [
            ToolCall(id=f"call_{self._calls + n}", name=name, arguments=to_json(arguments).decode())
            for n, (name, arguments, _) in enumerate(made)
        ]
        self._calls += len(calls)
        self._speak(text, *calls)
        for call, (_, _, result) in zip(calls, made, strict=True):
            self._say(tool_result(call.id, result), *seconds)

    def _speak(self, text: str, *calls: ToolCall) -> None:
        self._say(assistant(*([text] if text else []), *calls), 2, 25)
        self.turns += 1

    def _say(self, message: Message, least: float, most: float) -> None:
        self._now = round(self._now + self.rng.uniform(least, most), 1)
        self.messages.append(message)
        self.times.append(self._now)

    # -- the repository

    def _file(self, part: str, noun: str) -> _File:
        verbs = self.rng.sample(_VERBS, self.rng.randint(4, 11))
        return _File(
            f"src/{part}/{noun}s.py",
            {f"{verb}_{noun}_{part}": list(self._body(f"{verb}_{noun}_{part}")) for verb in verbs},
        )

    def _body(self, name: str) -> Iterator[str]:
        first, second = self.rng.sample(_NOUNS, 2)
        yield f"def {name}({first}: str, {second}: dict) -> dict | None:"
        yield f'    """{self._prose(6, 16)}."""'
        for _ in range(self.rng.randint(4, 18)):
            verb, noun, part = (self.rng.choice(words) for words in (_VERBS, _NOUNS, _PARTS))
            number = self.rng.randint(1, 999)
            yield self.rng.choice(
                (
                    f"    # {self._prose(6, 16)}",
                    f"    # {self._prose(6, 16)}",
                    f"    {noun} = {verb}_{noun}_{part}({first}, {second})",
                    f"    if {second}.get({self._prose(1, 3)!r}) is None: return {number}",
                    f"    {second}[{self._prose(1, 3)!r}] = {noun} * {number}",
                    f"    log.info('{self._prose(3, 9)} %s', {first})",
                )
            )
        yield f"    return {second}"
        yield ""
