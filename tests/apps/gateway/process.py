"""A gateway in a process of its own, which can be killed and started again at the same address."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.apps.gateway.upstream import WAIT


class GatewayProcess:
    """`pageturn serve`, on one port and one store."""

    def __init__(self, store: Path, upstream: str, *flags: str, variables: dict[str, str] | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = store.with_suffix(".log").open("ab")
        told = ("--store", str(store), "--anthropic", upstream, "--openai", f"{upstream}/v1")
        self._command = (sys.executable, "-m", "pageturn", "serve", "--port", str(self.port), *told, *flags)
        self._variables = {**os.environ, "PAGETURN_INSPECTOR": "off", **(variables or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        process = self._process = subprocess.Popen(
            self._command, env=self._variables, stdout=self._log, stderr=self._log, start_new_session=True
        )
        late = time.monotonic() + WAIT
        while process.poll() is None and time.monotonic() < late:
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise AssertionError(f"the gateway did not start: {self.log[-2_000:]}")

    def kill(self) -> None:
        """End it as a machine that loses its power does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(WAIT)

    def stop(self) -> None:
        """End it as a supervisor does; it must end by itself."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(WAIT)

    def limit_files(self, size: int) -> None:
        """No file of it may become larger from now on, as on a disk that is full (Linux)."""
        assert self._process is not None
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    @property
    def log(self) -> str:
        """What it has said so far."""
        return Path(self._log.name).read_text()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._log.close()
