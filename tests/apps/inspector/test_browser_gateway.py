"""The inspector of a gateway in a real browser, while an agent works through that gateway: it shows what went over the wire."""

import json
from types import SimpleNamespace

from tests.apps.gateway import conftest, test_inspected
from tests.apps.gateway.agent import ANTHROPIC, Agent, Provider
from tests.apps.inspector import browsing
from tests.apps.inspector.browsing import browser, go, looking, shot

pytestmark = browsing.MARKS
_plain_environment, _upstream, serving = conftest._plain_environment, conftest._upstream, test_inspected.serving
ask = conftest.ask


def without_space(text):
    return "".join(text.split())


def test_an_agent_that_works_through_the_gateway_is_followed_live(serving, upstream, ask, browser):
    provider = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC, {"x-pageturn-session": "bug"})
    agent.says("Find the bug in the login.")
    with serving("--mode", "manage", "--room", "8000") as (_, url, said), looking(browser) as page:
        upstream.answer = provider
        gateway = SimpleNamespace(url=url)
        agent.works(ask, gateway, 2, 2_000)
        page.goto(said[3].split(": ")[2].strip())  # with the token that the gateway printed
        page.click("a:has-text('Find the bug')")
        page.wait_for_selector(".live[data-state=live]")
        page.click("[role=tab]:has-text('turns')")
        page.wait_for_selector("a:has-text('turn 2')")
        agent.works(ask, gateway, 16, 2_000)
        page.wait_for_selector("a:has-text('turn 18')")
        page.wait_for_function("() => /[1-9]\\d* folds?/.test(document.querySelector('.stat').textContent)")
        shot(page, "gateway")

        go(page, f"{page.url}/turn/18")
        page.wait_for_selector(".message")
        shown = page.locator(".message pre").all_text_contents()
        sent = without_space(json.dumps(provider.bodies[17]).replace('\\"', '"'))
        assert len(shown) > 10
        assert [each for each in shown if without_space(each.splitlines()[0]) not in sent] == []
        page.click("text=show what the client sent")
        page.wait_for_url("**/turn/18?by=client")
        page.wait_for_function("least => document.querySelectorAll('.message').length > least", arg=len(shown))


__all__ = ["browser"]
