"""The gateway of the demo: `pageturn serve` in a process of its own, so that it can be killed and started again."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from pageturn.values.errors import InvalidInput

ROOM = 16_000  # tokens
_WHERE = re.compile(r"mode at (http://[^;\s]+);")
_SECONDS = 30  # to stop


class GatewayProcess:
    """A gateway in recall mode on a free port, which stops with the block; nothing of the user's settings applies to it."""

    def __init__(self, store: Path, upstream: str) -> None:
        self.url = ""
        program = (sys.executable, "-m", "pageturn", "serve")
        options = ("--mode", "recall", "--room", str(ROOM), "--port", "0", "--store", str(store), "--openai", upstream)
        self._command = [*program, *options]
        nowhere = str(store.parent / "no-settings")
        self._environ = _without_settings() | {"XDG_CONFIG_HOME": nowhere, "PAGETURN_INSPECTOR": "off"}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            self._command, env=self._environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line.strip())
            if found := _WHERE.search(line):
                self.url = found[1]
                return
        self.kill()
        raise InvalidInput("demo", expected="a gateway that starts", got="; ".join(said) or "silence")

    def kill(self) -> None:
        """Kill it without a chance to write anything more, as `kill -9` does."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        """Let it end, so that the store is closed."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def _without_settings() -> dict[str, str]:
    """The environment without what a gateway would follow: its own settings, and the addresses of vendors and proxies."""
    theirs = ("_BASE_URL", "_PROXY")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("PAGETURN_") and not name.upper().endswith(theirs)
    }
