"""Every view in a real browser: what it shows, its keys, its colours, news, and words that try to act (`make test-e2e`)."""

import re
from importlib.resources import files

import pytest

import pageturn as pt
from tests.apps.inspector import browsing
from tests.apps.inspector.browsing import browser, go, looking, shot
from tests.apps.inspector.serving import serving
from tests.apps.inspector.stores import TASK, work
from tests.sessions import open_session

pytestmark = browsing.MARKS
VIEWS = {
    "sessions": "/",
    "session": "/session/login-bug",
    "turn": "/session/login-bug/turn/20",
    "page": "/session/login-bug/page/{handle}",
    "search": "/search?q=compute_12",
    "routing": "/routing",
}


@pytest.fixture(scope="module")
def site(kept):
    with serving(kept.file) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def handle(kept):
    with pt.SessionReader.open(kept.file, "login-bug") as reader:
        return next(page.handle for page in reader.pages() if page.results)


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


__all__ = ["browser"]
