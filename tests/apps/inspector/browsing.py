"""A real browser for the tests, in which nothing goes wrong unnoticed, and that asks nobody but this machine.

It needs Playwright and Chromium (`make test-e2e` installs both); tests say so where they are not there. With
PAGETURN_SCREENSHOTS=FOLDER they leave pictures there.
"""

import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-e2e")
CHROMIUM = os.environ.get("PAGETURN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MARKS = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: make test-e2e"),
    pytest.mark.xdist_group("browser"),  # one after the other: a browser takes a core for itself
]
SHOTS = os.environ.get("PAGETURN_SCREENSHOTS")
LONGEST = 60_000  # milliseconds until a view must be there, on a machine that does much else


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def looking(browser, *, refused="(?!)", **options):
    """A page of a browser in which nothing goes wrong but what is to be refused, and that asks nobody but this machine."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
    page = context.new_page()
    page.set_default_timeout(LONGEST)
    wrong, asked = [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    try:
        yield page
        assert not [each for each in wrong if not re.search(refused, each)]
        assert all(re.match(r"(http://127\.0\.0\.1:\d+/|blob:|data:)", url) for url in asked), asked
    finally:
        context.close()


def go(page, address):
    page.goto(address)
    page.wait_for_selector("main:not([aria-busy]) h1")


def shot(page, name):
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(400)
        page.screenshot(path=f"{SHOTS}/{name}.png")
