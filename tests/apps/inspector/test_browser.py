"""Every view in a real browser: what it shows, its keys, its colours, news, ten thousand pages, and words that try to act.

It runs where Playwright and Chromium are there (`make test-e2e` installs both), and says so where they are not. With
PAGETURN_SCREENSHOTS=FOLDER it leaves a picture of every view there.
"""

import os
import re
import shutil
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

import pageturn as pt
from tests.apps.inspector.serving import serving
from tests.apps.inspector.stores import TASK, agent, work
from tests.sessions import open_session

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-e2e")
CHROMIUM = os.environ.get("PAGETURN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: make test-e2e"),
    pytest.mark.xdist_group("browser"),  # one after the other: a browser takes a core for itself
]
SHOTS = os.environ.get("PAGETURN_SCREENSHOTS")
VIEWS = {
    "sessions": "/",
    "session": "/session/login-bug",
    "turn": "/session/login-bug/turn/20",
    "page": "/session/login-bug/page/{handle}",
    "search": "/search?q=compute_12",
    "routing": "/routing",
}
LONGEST = 60_000  # milliseconds until a view must be there, on a machine that does much else


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(kept):
    with serving(kept.file) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def handle(kept):
    with pt.SessionReader.open(kept.file, "login-bug") as reader:
        return next(page.handle for page in reader.pages() if page.results)


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


SAYS = {
    "sessions": [TASK, "claude-sonnet-5", "hostile-fork"],
    "session": [TASK, "paged, budget_tokens 4,000", "rolling trim", "turn 1"],
    "turn": ["Turn 20", "Never push to main.", "it is a rule", "structured extracts"],
    "page": ["Its levels", "lowest level allowed", "value_0 = compute_0()"],
    "search": ["match", "login-bug", "compute_12"],
    "routing": ["anthropic/claude-opus-5", "What is believed", "scores"],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_every_view_says_what_it_is_for_and_has_no_barrier(browser, site, handle, view, look):
    options = {"color_scheme": "dark" if look == "dark" else "light"}
    if look == "phone":
        options["viewport"] = {"width": 390, "height": 844}
    with looking(browser, **options) as page:
        go(page, site + VIEWS[view].format(handle=handle))
        for words in SAYS[view][: 1 if look == "phone" else None]:  # on a phone some columns are left out
            page.wait_for_function("words => document.body.textContent.includes(words)", arg=words)
        assert page.title().endswith("Pageturn inspector")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), "it is wider than the screen"
        light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(247, 248, 250)"
        assert light is (look != "dark")
        shot(page, view if look == "light" else f"{view}-{look}")
        assert serious(page) == []


def serious(page):
    """What axe finds that keeps people out."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed: make test-e2e")
    page.evaluate(files(axe).joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run().then(found => found.violations)")
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def test_axe_is_there_to_find_something(browser, site):
    with looking(browser) as page:
        go(page, site)
        page.evaluate(
            "document.querySelector('input').removeAttribute('aria-label'); document.querySelector('input').placeholder = ''"
        )
        assert "label" in [name for name, _ in serious(page)]


def test_the_whole_way_by_keyboard(browser, site):
    with looking(browser) as page:
        go(page, site)
        page.wait_for_selector("text=claude-sonnet-5")
        page.keyboard.press("/")
        page.keyboard.type("login-bug")
        page.wait_for_function("() => document.querySelectorAll('.rows .row').length === 1")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/session/login-bug")
        page.wait_for_selector("canvas")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.wait_for_selector(".row.active:has-text('turn 2')")
        page.keyboard.press("k")
        page.wait_for_selector(".row.active:has-text('turn 1')")
        page.keyboard.press("]")
        page.wait_for_selector(".readout:has-text('turn 2')")
        page.keyboard.press("Enter")
        page.wait_for_url("**/turn/2")
        page.wait_for_selector("h1:has-text('Turn 2')")
        page.keyboard.press("]")
        page.wait_for_selector("h1:has-text('Turn 3')")
        page.keyboard.press("j")
        page.wait_for_selector(".message.active")
        page.keyboard.press("u")
        page.wait_for_url("**/session/login-bug")
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog:not([open])", state="attached")
        page.keyboard.press("g")
        page.keyboard.press("r")
        page.wait_for_selector("h1:has-text('Routing')")
        page.go_back()
        page.wait_for_selector("canvas")


def test_dark_and_light_are_chosen_by_a_key_and_remembered(browser, site):
    with looking(browser) as page:
        go(page, site)
        page.keyboard.press("d")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        go(page, f"{site}/routing")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
        page.keyboard.press("d")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_the_list_is_sorted_by_a_click_and_says_so(browser, site):
    with looking(browser) as page:
        go(page, site)
        page.wait_for_selector("text=claude-sonnet-5")
        page.click("button.sort:has-text('turns')")
        page.wait_for_selector("[role=columnheader][aria-sort=descending]:has-text('turns')")
        assert TASK in page.text_content(".rows .row >> nth=0")
        page.click("button.sort:has-text('turns')")
        page.wait_for_selector("[role=columnheader][aria-sort=ascending]:has-text('turns')")
        assert TASK not in page.text_content(".rows .row >> nth=0")


def test_the_map_tells_the_turn_and_the_page_below_the_pointer(browser, site):
    with looking(browser) as page:
        go(page, f"{site}/session/login-bug")
        box = page.locator("canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 24)
        page.wait_for_selector(".readout:has-text('turn 30')")
        assert re.search(r"p\d+-\w{4} (bootstrap|constraint)", page.text_content(".readout"))
        page.mouse.click(box["x"] + 70, box["y"] + 24)
        page.wait_for_selector(".row.active:has-text('turn 1')")
        colours = page.evaluate(
            "(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            " const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add([d[i], d[i + 1], d[i + 2]].join()); return [...seen]; })()"
        )
        assert {"59,111,224", "224,165,38"} <= set(colours)  # full and structured


def test_a_turn_lists_what_is_new_and_what_is_gone(browser, site, kept):
    number = next(at for at, context in enumerate(kept.contexts, start=1) if context.fold is not None and at > 5)
    with looking(browser) as page:
        go(page, f"{site}/session/login-bug/turn/{number}")
        page.wait_for_selector("text=Folded because")
        whole = page.locator(".message").count()
        page.click("button:has-text('new')")
        page.wait_for_function("most => document.querySelectorAll('.message').length < most", arg=whole)
        assert page.locator(".message:not(.new)").count() == 0
        page.click("button:has-text('gone')")
        page.wait_for_selector(".message.gone")
        assert page.locator(".message:not(.gone)").count() == 0


def test_the_levels_of_a_page_are_tabs(browser, site, handle):
    with looking(browser) as page:
        go(page, f"{site}/session/login-bug/page/{handle}")
        page.click("[role=tab]:has-text('structured')")
        page.wait_for_selector("[role=tab][aria-selected=true]:has-text('structured')")
        assert "<page>" in page.text_content("#text")
        page.keyboard.press("ArrowLeft")
        assert "structured" not in page.text_content("[role=tab][aria-selected=true]")


def test_a_session_that_is_running_is_followed_live(browser, tmp_path):
    file = tmp_path / "live.db"
    with open_session(file, id="live", model="claude-sonnet-5", policy=pt.Paged(budget_tokens=4_000)) as session:
        session.append(pt.user(TASK))
        work(session, 3)
        with serving(file) as port, looking(browser) as page:
            go(page, f"http://127.0.0.1:{port}/session/live")
            page.wait_for_selector(".live[data-state=live]")
            page.wait_for_selector("a:has-text('turn 3')")
            page.click("[role=tab]:has-text('turns')")
            work(session, 2, first=3)
            page.wait_for_selector("a:has-text('turn 5')")
            assert page.text_content(".stat >> nth=0").startswith("turns5")
            page.keyboard.press("u")
            page.wait_for_selector(".rows .row:has-text('live')")
            with open_session(file, id="second", seed=9) as other:
                other.append(pt.user("another task"))
            page.wait_for_selector(".rows .row:has-text('another task')")


HOSTILE_PLACES = ["/", "/session/hostile", "/session/hostile/turn/2", "/session/hostile/turn/5", "/search?q=pwned"]


def test_hostile_words_are_shown_and_do_nothing(browser, site, kept):
    with pt.SessionReader.open(kept.file, "hostile") as reader:
        pages = [f"/session/hostile/page/{page.handle}" for page in reader.pages()]
    with looking(browser) as page:
        for place in [*HOSTILE_PLACES, *pages]:
            go(page, site + place)
            page.wait_for_timeout(150)
            assert "pwned" not in page.title().replace("pwned: search", "").replace("document.title='pwned'", "")
            assert (
                page.evaluate(
                    "document.querySelectorAll('main script, main svg, main img, main style, main iframe').length"
                )
                == 0
            )
            assert page.evaluate("[...document.querySelectorAll('a')].every(a => a.protocol === 'http:')")
            assert page.evaluate(
                "[...document.querySelectorAll('*')].every(e => [...e.attributes].every(a => !a.name.startsWith('on')))"
            )
            text = page.evaluate("document.body.textContent")
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\U000e0041]", text)
            assert page.is_visible("h1")
        go(page, f"{site}/session/hostile/turn/2")
        body = page.text_content(".messages")
        assert "<script>document.title='pwned'</script>" in body
        assert "\\x1b[2J" in body
        assert "\\u202eesrever" in body
        assert "zero\\u200bwidth" in body


def test_markup_could_not_be_made_even_by_a_mistake(browser, site):
    with looking(browser, refused="Content Security [Pp]olicy|requires 'TrustedHTML'|TrustedHTML") as page:
        go(page, site)
        said = page.evaluate(
            "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'made'; } catch (error) { return error.name; } })()"
        )
        assert said == "TypeError"
        said = page.evaluate(
            "(() => { try { trustedTypes.createPolicy('x', {createHTML: text => text}); return 'made'; } catch (error) { return error.name; } })()"
        )
        assert said == "TypeError"
        assert page.evaluate("fetch('http://example.com/').then(() => 'got', error => error.name)") == "TypeError"


def test_a_very_long_line_comes_in_pieces(browser, tmp_path):
    file = tmp_path / "long.db"
    with open_session(file, id="long") as session:
        long = session.append(pt.user("y" * 10_000_000))
        session.derive()
        session.append(pt.assistant("seen"))
    with serving(file) as port, looking(browser) as page:
        go(page, f"http://127.0.0.1:{port}/session/long/page/{long.handle}")
        page.wait_for_selector("text=the next of 9,980,000 characters")
        assert len(page.text_content("#text pre")) == 20_000
        page.click("text=the next of")
        page.wait_for_function("() => document.querySelector('#text pre').textContent.length === 40_000")
        go(page, f"http://127.0.0.1:{port}/session/long")
        page.wait_for_selector("a:has-text('turn 1')")


def test_ten_thousand_pages_are_drawn_and_only_those_in_sight_are_nodes(browser, tmp_path):
    file = tmp_path / "large.db"
    agent(file, id="large", turns=5_000, budget=16_000, usage=None)
    with serving(file) as port, looking(browser) as page:
        go(page, f"http://127.0.0.1:{port}/session/large")
        page.click("[role=tab]:has-text('pages')")
        page.wait_for_selector("[aria-rowcount='10004']")
        assert page.locator(".rows .row").count() < 60
        page.focus("[role=grid]")
        page.keyboard.press("End")
        page.wait_for_selector(".row.active")
        last = page.text_content(".row.active")
        assert "value_4999" in page.text_content(".rows") or "…" in last
        assert page.locator(".rows .row").count() < 60
        page.wait_for_function(
            "() => document.querySelector('.row.active .begins')?.textContent.includes('value_4999')"
        )
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        assert heap < 200_000_000
        shot(page, "large")
