"""Takes the screenshots of docs/inspector.md: a generated session of 120 turns, in Chromium.

make screenshots          installs Playwright and Chromium first, where they are missing
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pageturn as pt
from pageturn.lab.demo_session import PREFERENCE, RULE, demo_session
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace
from pageturn.tokens.counters import counter_for
from pageturn.values.messages import Role

FOLDER = Path(__file__).parent.parent / "docs" / "screenshots"
WIDTH, HEIGHT, TALL = 1240, 800, 1010
MODEL = "claude-sonnet-5"
_SECONDS = 7.0  # between two messages


def main() -> None:
    """Write a PNG for each picture of the page."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="pageturn-") as folder, sync_playwright() as playwright:
        store = Path(folder, "agent.db")
        played(store, "login-timeout", demo_session().trace, 16_000)
        played(store, "invoices", coding_session(3, 40), 9_000)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        with pt.SessionReader.open(store, "login-timeout") as reader:
            fold = reader.folds[4]
            handle = next(each.handle for each in reader.pages() if each.results and reader.turn_of(each) > 4)
        with served(store) as url:
            for name, path in (("session", ""), ("turn", f"/turn/{fold}"), ("page", f"/page/{handle}")):
                page.set_viewport_size({"width": WIDTH, "height": HEIGHT if path else TALL})
                page.goto(f"{url}session/login-timeout{path}")
                page.wait_for_selector("main:not([aria-busy]) h1")
                page.wait_for_timeout(1_000)
                page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


def played(store: Path, id_: str, trace: Trace, budget_tokens: int) -> None:
    """A session of a trace, with the usage that a provider with a true prefix cache would report."""
    now = [datetime(2026, 11, 2, 9, tzinfo=UTC)]
    counter = counter_for(MODEL)
    sent: tuple[pt.Message, ...] = ()
    with pt.Session.open(
        store, id=id_, model=MODEL, policy=pt.Paged(budget_tokens=budget_tokens), clock=lambda: now[0]
    ) as session:
        session.pin(RULE)
        for place, message in enumerate(trace.messages):
            now[0] += timedelta(seconds=_SECONDS)
            if place == len(trace.messages) // 2:
                session.prefer(PREFERENCE)
            if message.role is not Role.ASSISTANT:
                session.append(message)
                continue
            context = session.derive()
            same = next(
                (at for at, (a, b) in enumerate(zip(context.messages, sent, strict=False)) if a != b), len(sent)
            )
            read = sum(map(counter.message, context.messages[:same])) if sent else 0
            out = counter.message(message)
            usage = pt.Usage(
                input_tokens=context.tokens,
                output_tokens=out,
                cache_read_tokens=read,
                cache_write_tokens=context.tokens - read,
            )
            session.append(message, usage)
            sent = context.messages


@contextmanager
def served(store: Path) -> Iterator[str]:
    """The address of an inspector of the store."""
    command = [sys.executable, "-m", "pageturn", "inspect", store.name, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=store.parent) as server:  # noqa: S603 - ours
        assert server.stderr is not None
        yield server.stderr.readline().strip().rpartition(" ")[2]
        server.terminate()


if __name__ == "__main__":
    main()
