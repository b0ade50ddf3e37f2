"""Ten thousand pages in a real browser: all of them can be reached, and only those in sight are nodes.

How long it takes depends on the machine, so it is printed and not asserted: make test-e2e ARGS='-s -k ten_thousand'
"""

from statistics import median, quantiles

import pytest

from tests.apps.inspector import browsing
from tests.apps.inspector.browsing import browser, looking, shot
from tests.apps.inspector.serving import serving
from tests.apps.inspector.stores import agent

pytestmark = browsing.MARKS
TURNS = 5_000
MOST_ROWS = 60  # in the document at once
FRAMES = 240
# When the session is there: its map is drawn, and the frame after that has begun.
WATCHES = """
new MutationObserver((_, watching) => {
  if (!document.querySelector("main:not([aria-busy]) canvas")) return;
  watching.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("there")));
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
THERE = "performance.getEntriesByName('there')[0]?.startTime"
# Scrolls through the table, some rows with each frame; gives the milliseconds of each frame and the most rows that were there.
SCROLLS = """
frames => new Promise(done => {
  const table = document.querySelector("[role=grid]"), times = [];
  const step = (table.scrollHeight - table.clientHeight) / frames;
  let before = performance.now(), rows = 0;
  requestAnimationFrame(function next(now) {
    times.push(now - before);
    before = now;
    rows = Math.max(rows, table.querySelectorAll(".rows .row").length);
    table.scrollTop += step;
    if (times.length <= frames) requestAnimationFrame(next);
    else done({ times: times.slice(1), rows, rest: table.scrollHeight - table.clientHeight - table.scrollTop });
  });
})
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The address of a session of ten thousand pages."""
    file = tmp_path_factory.mktemp("large") / "large.db"
    agent(file, id="large", turns=TURNS, budget=16_000, usage=None)
    with serving(file) as port:
        yield f"http://127.0.0.1:{port}/session/large"


def told(measured):
    """Print what was measured, for those who ask with -s."""
    print(f"\n{measured}", end="")  # noqa: T201


def opened(page, address):
    """Open it, and give the milliseconds until something was painted, and until all of the session was there."""
    page.goto(address)
    page.wait_for_function(f"() => {THERE}")
    return page.evaluate(f"[{PAINTED}, {THERE}]")


def test_ten_thousand_pages_are_drawn_and_only_those_in_sight_are_nodes(browser, large):
    with looking(browser) as page:
        page.add_init_script(WATCHES)
        for which in ("first", "second"):
            painted, there = opened(page, large)
            told(f"opened the {which} time: first paint after {painted:.0f} ms, the session after {there:.0f} ms")
        page.click("[role=tab]:has-text('pages')")
        page.wait_for_selector(f"[aria-rowcount='{2 * TURNS + 4}']")
        assert page.locator(".rows .row").count() < MOST_ROWS
        page.focus("[role=grid]")
        page.keyboard.press("End")
        page.wait_for_function(
            "last => document.querySelector('.row.active .begins')?.textContent.includes(last)",
            arg=f"value_{TURNS - 1}",
        )
        assert page.locator(".rows .row").count() < MOST_ROWS
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        assert heap < 200_000_000
        told(f"{heap / 1e6:.0f} MB in JavaScript's heap")
        shot(page, "large")


def test_scrolling_through_ten_thousand_pages_keeps_the_nodes_few(browser, large):
    with looking(browser) as page:
        page.add_init_script(WATCHES)
        opened(page, large)
        page.click("[role=tab]:has-text('pages')")
        page.wait_for_selector(f"[aria-rowcount='{2 * TURNS + 4}']")
        page.locator("[role=grid]").evaluate("table => { table.scrollTop = 0 }")
        scrolled = page.evaluate(SCROLLS, FRAMES)
        assert 0 < scrolled["rows"] < MOST_ROWS
        assert scrolled["rest"] < 2  # pixels: it came to the end
        times = scrolled["times"]
        assert len(times) == FRAMES
        late = sum(time > 1.5 * 1000 / 60 for time in times)
        tail = quantiles(times, n=20)[-1]
        told(f"{FRAMES} frames of scrolling: median {median(times):.1f} ms, 95th percentile {tail:.1f} ms, {late} late")


__all__ = ["browser"]
