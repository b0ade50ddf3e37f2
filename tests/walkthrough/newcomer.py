"""A new user's machine: an empty home, a shell that knows `pip`, `python`, `pageturn` and `claude`, and a provider to which clients are led."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.walkthrough.provider import Provider

HERE = Path(__file__).parent
_KEPT = ("PYTHONDONTWRITEBYTECODE", "TMPDIR")  # of whoever runs the tests
_HIT = re.compile(r"^(\S+) (p\d+-[a-z2-7]{4}) turn ", re.MULTILINE)  # of a recall: its session and its handle
_REPLAYS = ("pageturn replay", "pageturn report", "pageturn demo")  # whose figures follow every change of a policy
_BAR = re.compile("[█▓▒░▲]")
_FINISHED = 120  # seconds after which a command hangs


class Newcomer:
    """Runs commands, and tells what they print, as on any day and in any folder."""

    def __init__(self, home: Path, provider: Provider) -> None:
        self.home, self._provider = home, provider
        self._session = self._handle = ""  # that were found last
        self._step = 0
        tools = home / "bin"
        tools.mkdir(parents=True)
        for source in (HERE / "stand_ins").iterdir():
            (tools / source.stem).write_text(f"#!{sys.executable}\n{source.read_text('utf-8')}", "utf-8")
            (tools / source.stem).chmod(0o755)
        (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (tools / "python").chmod(0o755)
        self.project = home / "project"
        self.project.mkdir()
        self._environ = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "PATH": os.pathsep.join((str(tools), os.defpath, str(Path(shutil.which("bash") or "").parent))),
            "PYTHONPATH": os.pathsep.join((str(HERE / "chance"), os.environ.get("PYTHONPATH", ""))).rstrip(os.pathsep),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "220",  # so that a long name of the home folder breaks no line
            "OPENAI_API_KEY": "none",  # a story may export another
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": provider.url,
        }

    def save(self, name: str, code: str) -> None:
        """Put a block of a page into a file of the project."""
        (self.project / name).write_text(code, "utf-8")

    def run(self, command: str) -> list[str]:
        """The lines that a command prints; it gets a "y" where it asks."""
        command = command.replace("HANDLE", self._handle).replace("ID", self._session)
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self._environ[name] = value
            return []
        self._step += 1
        self._environ["STEP_OF_A_STORY"] = str(self._step)
        asked = len(self._provider.asked)
        printed = self._served(command) if command.startswith("pageturn inspect") else self._finished(command)
        if hit := _HIT.search(printed):
            self._session, self._handle = hit.groups()
        lines = [self._as_always(line).rstrip() for line in printed.splitlines()]
        if command.startswith(_REPLAYS):
            lines = [re.sub(r" *[\d,.]*\d%?", " #", line) for line in lines if not _BAR.search(line)]
        if times := len(self._provider.asked) - asked:
            lines.append("(the provider was asked " + ("once)" if times == 1 else f"{times} times)"))
        return lines

    def _finished(self, command: str) -> str:
        ran = subprocess.run(
            ["/bin/sh", "-c", f"exec {command}"], input="y\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, cwd=self.project, env=self._environ, timeout=_FINISHED,
        )  # fmt: skip
        if ran.returncode < 0:
            return f"{ran.stdout}(it was ended by {signal.Signals(-ran.returncode).name})\n"
        return ran.stdout + (f"(exit status {ran.returncode})\n" if ran.returncode else "")

    def _served(self, command: str) -> str:
        """What a server says, what its first page and its data answer, and how it ends at Ctrl-C."""
        with subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"], stderr=subprocess.PIPE, text=True, cwd=self.project, env=self._environ
        ) as server:
            assert server.stderr is not None
            said = server.stderr.readline()
            try:
                url = said.split()[-1]
                answers = [f"(GET {place}: {urlopen(url + place[1:]).status})" for place in ("/", "/data")]
            finally:
                server.send_signal(signal.SIGINT)
            rest = server.stderr.read()
        ended = f"(Ctrl-C: exit status {server.returncode})"
        return "\n".join([said.rstrip(), *answers, *rest.splitlines(), ended])

    def _as_always(self, line: str) -> str:
        """A line without what differs from run to run; columns keep their places."""
        line = line.replace(str(self.home), "~")
        # The handle of an imported page depends on the path of its file, and so do the tokens of a form that has handles.
        line = re.sub(r"\b(p\d+)-[a-z2-7]{4}\b", r"\1-xxxx", line)
        line = re.sub(r"^(structured|pointer), \d+ tokens, \d+%", r"\1, N tokens, N%", line)
        # Days in March are those of the generated logs.
        line = re.sub(r"\b(?!2026-03)\d{4}-\d\d-\d\d \d\d:\d\d\b", "YYYY-MM-DD hh:mm", line)
        return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8789", line)
