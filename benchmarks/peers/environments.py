"""The environments that other libraries run in, each its own, so that none of them is ever a dependency of ours.

    python -m benchmarks.peers.environments

What does not install is left out, and the reason is kept beside it.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_REASON_CHARS = 160


class Environment(NamedTuple):
    name: str
    packages: tuple[str, ...]
    python: tuple[int, int] = (3, 11)  # the oldest that it takes

    @property
    def folder(self) -> Path:
        return ROOT / f".venv-{self.name}"

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def missing(self) -> str | None:
        """Why it cannot be used, if so."""
        reason = self.folder / "skipped"
        if reason.exists():
            return reason.read_text().strip()
        return None if (self.folder / "installed").exists() else "not installed: make bench-peers"

    def make(self) -> None:
        if (self.folder / "installed").exists():
            return
        reason = self._install()
        self.folder.mkdir(exist_ok=True)
        (self.folder / ("skipped" if reason else "installed")).write_text(reason or "")
        if not reason:
            (self.folder / "skipped").unlink(missing_ok=True)

    def _install(self) -> str | None:
        python = _python(self.python)
        if python is None:
            return f"{self.packages[0]} needs Python {self.python[0]}.{self.python[1]}, which is not here"
        print(f"installing {', '.join(self.packages)} into {self.folder.name} ...", file=sys.stderr)
        subprocess.run([python, "-m", "venv", self.folder], check=True)
        done = subprocess.run(
            [self.interpreter, "-m", "pip", "install", "--quiet", *self.packages],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return None
        errors = re.findall(r"^ERROR: (.*)$", done.stderr, re.MULTILINE) or [done.stderr.strip()]
        return f"{self.packages[0]} does not install here: {errors[-1][:_REASON_CHARS]}"


def _python(least: tuple[int, int]) -> str | None:
    """An interpreter that is new enough: our own, or one of that name, also where pyenv hides it."""
    if sys.version_info >= least:
        return sys.executable
    name = f"python{least[0]}.{least[1]}"
    hidden = sorted(Path.home().glob(f".pyenv/versions/{least[0]}.{least[1]}*/bin/{name}"))
    for python in filter(None, [shutil.which(name), *map(str, hidden)]):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    return None


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment("langchain", ("langchain==1.4.7", "langchain-core==1.7.2")),
        Environment("harness", ("pydantic-ai-harness==0.62.0", "pydantic-ai-slim==2.62.0")),
        Environment("agent-framework", ("agent-framework-core==1.23.0",)),
        Environment("headroom", ("headroom-ai==0.42.0",)),
        Environment("openhands", ("openhands-sdk==1.49.6",), (3, 12)),
    )
}


if __name__ == "__main__":
    for environment in ENVIRONMENTS.values():
        environment.make()
        if environment.missing:
            print(f"skipped: {environment.missing}", file=sys.stderr)
