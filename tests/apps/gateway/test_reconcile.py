"""What of a request is new, as a pure function of what is known."""

import pytest

from pageturn.apps.gateway.reconcile import Begin, Continue, History, Repeat, chain, digest, first_link, reconcile
from pageturn.values.messages import Image, Text, Thinking, ToolCall, assistant, developer, system, tool_result, user

CALL = ToolCall(id="c1", name="read", arguments='{"a": 1}')


class Known:
    """Sessions by the links of their chains, as a store would have them."""

    def __init__(self):
        self.sessions, self.ends = {}, {}

    def take(self, session, links):
        self.sessions |= dict.fromkeys(links[1:], session)
        self.ends[session] = links[-1]

    def ask(self, links, reply=None):
        return reconcile(links, reply, self.sessions.get, self.ends.get)


def links(*texts, first="start"):
    return chain(first, [user(text) for text in texts])


def test_a_history_that_grew_goes_on_where_it_ended():
    known = Known()
    known.take("s", links("a", "b"))
    assert known.ask(links("a", "b")) == Continue("s", 2)
    assert known.ask(links("a", "b", "c", "d")) == Continue("s", 2)


def test_a_history_that_nobody_knows_begins_a_session():
    known = Known()
    known.take("s", links("a", "b"))
    assert known.ask(links("x", "b")) == Begin()
    assert known.ask(links("a", "b", first="another start")) == Begin()
    assert Known().ask(links()) == Begin()


def test_a_history_that_turned_off_begins_a_session_and_either_goes_on():
    known = Known()
    known.take("s", links("a", "b", "c"))
    turned = links("a", "b", "x")
    assert known.ask(turned) == Begin()
    known.take("t", turned)
    assert known.ask(links("a", "b", "x", "y")) == Continue("t", 3)
    assert known.ask(links("a", "b", "x", "y")[:3]) == Begin()  # both have it, and both went on


def test_what_was_sent_twice_is_known_by_its_reply():
    known = Known()
    whole = links("a", "reply")
    known.take("s", whole)
    assert known.ask(whole[:2], reply=whole[2]) == Repeat("s")
    assert known.ask(whole[:2], reply=links("a", "another")[2]) == Begin()
    assert known.ask(whole[:2]) == Begin()


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (user("a"), user(" a\n")),
        (user("a"), user(Text(text="a", extra={"anthropic": {"cache_control": {}}}))),
        (user("a", ""), user("a")),
        (assistant(Thinking(text="hm"), "a"), assistant("a")),
        (assistant("Let me look.", CALL), assistant(ToolCall(id="c1", name="invalid", arguments="{}"))),
        (developer("a"), system("a")),
        (system("x-anthropic-billing-header: cch=1", "a"), system("x-anthropic-billing-header: cch=2", "a")),
    ],
)
def test_what_says_the_same_has_one_digest(one, same):
    assert digest(one) == digest(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (user("a"), user("b")),
        (user("a"), assistant("a")),
        (user("a", "b"), user("ab")),
        (assistant(CALL), assistant(ToolCall(id="c2", name="read", arguments='{"a": 1}'))),
        (tool_result("c1", "x"), tool_result("c1", "y")),
        (tool_result("c1", "x"), tool_result("c2", "x")),
        (user(Image(url="data:1")), user(Image(url="data:2"))),
    ],
)
def test_what_says_something_else_has_another(one, other):
    assert digest(one) != digest(other)


def test_a_name_stands_for_a_system_prompt_and_nothing_else_does():
    one, other = (History.of([system(text), user("a")]) for text in ("Be brief.", "Be long."))
    assert first_link("name", one) == first_link("name", other)
    assert first_link(None, one) != first_link(None, other)
    assert first_link("name", one) != first_link("another", one)
    several = History.of([system("a"), developer("b"), user("c")])
    assert first_link("name", several) != first_link("name", one)
    assert (len(several.opening), len(several.conversation)) == (2, 1)
