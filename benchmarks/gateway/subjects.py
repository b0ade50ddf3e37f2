"""What is measured: proxies that listen on a port each, in processes of their own, all in front of the same provider."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.gateway.environments import HEADROOM, LITELLM

_READY_SECONDS = 90.0
_QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "DO_NOT_TRACK": "1"}


class Running(NamedTuple):
    """A process that listens."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int:
        """Bytes that it holds, its children's too."""
        return sum(_resident(pid) for pid in (self.pid, *_children(self.pid)))

    @property
    def seconds(self) -> float:
        """Processor time that it has taken, its children's too: unlike a clock, it does not go by what else runs."""
        return sum(_taken(pid) for pid in (self.pid, *_children(self.pid)))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str | Path], port: int, log: Path, environ: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """A process that will listen on the port; it ends with the block."""
    with log.open("wb") as told:
        process = subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, **_QUIET, **(environ or {})},
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
        try:
            _wait_for(port, process, log)
            yield Running(port, process.pid)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens: {log.read_text(errors='replace')[-800:]}")


@contextmanager
def provider(folder: Path) -> Iterator[Running]:
    port = free_port()
    code = f"from benchmarks.gateway.load import provide; provide({port})"
    with running([sys.executable, "-c", code], port, folder / "provider.log") as process:
        yield process


@contextmanager
def subject(name: str, upstream: str, folder: Path) -> Iterator[Running]:
    """One of the proxies, by name."""
    port = free_port()
    command, environ = _COMMANDS[name](port, upstream, folder)
    with running(command, port, folder / f"{name}.log", environ) as process:
        yield process


def missing(name: str) -> str | None:
    """Why one cannot be measured, if so."""
    environments = {"litellm": LITELLM, "headroom": HEADROOM, "headroom token": HEADROOM}
    reason = environments[name].missing if name in environments else None
    return reason.replace("bench-peers", "bench-gateway") if reason else None


def _bare(port: int, upstream: str, _folder: Path) -> tuple[list[str | Path], dict[str, str]]:
    return [sys.executable, "-m", "benchmarks.gateway.bare", str(port), upstream], {}


def _pageturn(mode: str, *flags: str):  # noqa: ANN202
    def command(port: int, upstream: str, folder: Path) -> tuple[list[str | Path], dict[str, str]]:
        store = folder / f"{mode}-{port}.db"
        called = [sys.executable, "-m", "pageturn", "serve", "--mode", mode, "--port", str(port), "--store", store]
        return [*called, *flags], {
            "PAGETURN_ANTHROPIC_URL": upstream,
            "PAGETURN_OPENAI_URL": f"{upstream}/v1",
            "HOME": str(folder),
        }

    return command


def _litellm(port: int, upstream: str, folder: Path) -> tuple[list[str | Path], dict[str, str]]:
    config = folder / "litellm.yaml"
    models = "".join(
        f"  - model_name: {name}\n    litellm_params: {{model: openai/{name}, api_base: '{upstream}/v1', api_key: sk-bench}}\n"
        for name in ("bench", "bench-hold")
    )
    config.write_text(
        f"model_list:\n{models}general_settings: {{master_key: sk-bench}}\nlitellm_settings: {{telemetry: false}}\n"
    )
    called = [LITELLM.folder / "bin" / "litellm", "--config", config, "--port", str(port), "--host", "127.0.0.1"]
    return called, {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "HOME": str(folder)}


def _headroom(mode: str):  # noqa: ANN202
    def command(port: int, upstream: str, folder: Path) -> tuple[list[str | Path], dict[str, str]]:
        called = [HEADROOM.folder / "bin" / "headroom", "proxy", "--port", str(port), "--mode", mode, "--no-rate-limit"]
        return called, {
            "OPENAI_TARGET_API_URL": f"{upstream}/v1",
            "ANTHROPIC_TARGET_API_URL": upstream,
            "HEADROOM_TELEMETRY": "off",
            "HF_HUB_OFFLINE": "1",
            "HOME": str(folder),
        }

    return command


ROOM = 16_000
_COMMANDS = {
    "bare": _bare,
    "watch": _pageturn("watch"),
    "manage": _pageturn("manage", "--room", str(ROOM)),
    "recall": _pageturn("recall", "--room", str(ROOM)),
    "litellm": _litellm,
    "headroom": _headroom("cache"),
    "headroom token": _headroom("token"),
}


def _children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found += [int(folder.name), *_children(int(folder.name))]
    return found


def _taken(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmRSS")]
    return int(lines[0][1]) * 1024 if lines else 0
