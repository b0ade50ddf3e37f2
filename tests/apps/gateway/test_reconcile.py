"""Which changes of a history count, and where a request goes on."""

import json

import pytest

import pageturn as pt
from pageturn.apps.gateway.identity import Identity, identity_in, identity_of
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.places import Place
from pageturn.apps.gateway.reconcile import chain, locate
from pageturn.apps.gateway.sessions import Sessions
from pageturn.formats import anthropic, openai_chat, openai_responses
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, TOOLS, request, said

FORMATS = {ANTHROPIC: anthropic, CHAT: openai_chat, RESPONSES: openai_responses}
MARK = {"cache_control": {"type": "ephemeral"}}
LONG_ID = "toolu_0123456789"
REMINDER = {"type": "text", "text": "<system-reminder>Be quick.</system-reminder>"}


def fingerprints(path, item):
    return ItemReader().read(FORMATS[path], [json.dumps(item).encode()])[0].fingerprints


def use(arguments, id_=LONG_ID, *before):
    return {
        "role": "assistant",
        "content": [*before, {"type": "tool_use", "id": id_, "name": "read", "input": arguments}],
    }


def results(*texts):
    return [{"type": "tool_result", "tool_use_id": f"{LONG_ID}{at}", "content": text} for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        (ANTHROPIC, {"role": "user", "content": "One."}, {"role": "user", "content": [{"type": "text", "text": "One.", **MARK}]}),
        (ANTHROPIC, {"role": "user", "content": results("a", "b")}, {"role": "user", "content": results("a", "b")[::-1]}),
        (ANTHROPIC, {"role": "user", "content": results("a")}, {"role": "user", "content": [*results("a"), REMINDER]}),
        (ANTHROPIC, {"role": "user", "content": [{"type": "text", "text": "One."}]}, {"role": "user", "content": [REMINDER, {"type": "text", "text": "One."}]}),
        (ANTHROPIC, use({"a": 1, "b": 2}), use({"b": 2, "a": 1.0}, LONG_ID, {"type": "text", "text": "Let me see."})),
        (ANTHROPIC, use({}), use({}, LONG_ID, {"type": "thinking", "thinking": "Hm.", "signature": "s"})),
        (CHAT, said(CHAT, "", (LONG_ID, "read", '{"a": 1}'))[0], said(CHAT, "Hm.", (LONG_ID, "read", '{"a":1}'))[0]),
        (RESPONSES, {"type": "function_call", "id": "x", "call_id": "c", "name": "n", "arguments": '{"a": 1}'}, {"type": "function_call", "call_id": "c", "name": "n", "arguments": '{"a":1.0}'}),
        (RESPONSES, {"type": "compaction", "id": "a", "encrypted_content": "x"}, {"type": "compaction", "id": "b", "encrypted_content": "x"}),
    ],
)  # fmt: skip
def test_what_is_no_change(path, one, other):
    assert fingerprints(path, one) == fingerprints(path, other) != ()


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        (ANTHROPIC, {"role": "user", "content": "One."}, {"role": "user", "content": "Two."}),
        (ANTHROPIC, {"role": "user", "content": "One."}, {"role": "assistant", "content": "One."}),
        (ANTHROPIC, {"role": "user", "content": results("a")}, {"role": "user", "content": results("b")}),
        (ANTHROPIC, use({"a": 1}), use({"a": 2})),
        (ANTHROPIC, use({}), use({}, f"{LONG_ID}9")),
        (ANTHROPIC, use({}, "call_0", {"type": "text", "text": "a"}), use({}, "call_0", {"type": "text", "text": "b"})),  # ids that are counted say little
        (ANTHROPIC, {"role": "system", "content": []}, {"role": "system", "content": [], "output_config": {"effort": "low"}}),
        (ANTHROPIC, {"role": "user", "content": [REMINDER]}, {"role": "user", "content": [{**REMINDER, "text": "<system-reminder>Slowly.</system-reminder>"}]}),
        (RESPONSES, {"type": "compaction", "encrypted_content": "x"}, {"type": "compaction", "encrypted_content": "y"}),
    ],
)  # fmt: skip
def test_what_is_a_change(path, one, other):
    assert fingerprints(path, one) != fingerprints(path, other)


def test_reasoning_alone_is_no_step():
    assert fingerprints(RESPONSES, {"type": "reasoning", "summary": [], "encrypted_content": "x"}) == ()


class Book:
    """What is known, by hand."""

    def __init__(self, places, ends=()):
        self._places, self._ends = places, dict(ends)

    def at(self, link):
        return self._places.get(link, ())

    def is_end(self, place, link):
        return self._ends.get(place.session) == link


def test_the_longest_known_beginning_counts_and_a_session_that_ends_there_goes_on():
    links = chain("first", [("a",), ("b",), ("c",)])
    a, b = Place("one", 3), Place("two", 5)
    found = locate("n", [links], Book({links[1]: (a,), links[2]: (a, b)}, {"two": links[2]}), from_nothing=True)
    assert (found.known, found.place, found.is_end) == (2, b, True)
    gone_on = locate("n", [links], Book({links[1]: (a,), links[2]: (a,)}, {"one": "elsewhere"}), from_nothing=True)
    assert (gone_on.known, gone_on.place, gone_on.is_end) == (2, a, False)
    assert locate("n", [links], Book({}), from_nothing=True).place is None


def test_an_empty_history_is_known_only_by_a_name():
    links = chain("first", [("a",)])
    book = Book({links[0]: (Place("one", 1),)})
    assert locate(None, [links], book, from_nothing=False).place is None
    assert locate("n", [links], book, from_nothing=True).place == Place("one", 1)


def test_reasoning_behind_what_is_known_is_new():
    """It goes with what it led to, or it would be lost where its reply was not written down."""
    links = chain("first", [("a",), (), ("b",)])
    assert locate("n", [links], Book({links[1]: (Place("one", 1),)}), from_nothing=True).known == 1


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"user_id": '{"session_id": "s-1", "account": "x"}'}, "claude-code-s-1"),
        ({"user_id": "user_x_account__session_01234567-0123-0123-0123-0123456789ab"}, "claude-code-01234567-0123-0123-0123-0123456789ab"),
        ({"user_id": "somebody"}, None),
        ({"user_id": 3}, None),
        (None, None),
        ("x", None),
    ],
)  # fmt: skip
def test_claude_code_names_its_session_in_the_body_too(metadata, name):
    found = identity_in(metadata)
    assert (found.name if found else None) == name


def test_a_subagent_of_codex_says_whom_it_branched_off():
    headers = ((b"thread-id", b"t2"), (b"x-codex-parent-thread-id", b"t1"))
    assert identity_of(headers) == Identity("codex-t2", parent="codex-t1")


class Recorder:
    """Sessions in memory, fed with whole exchanges."""

    def __init__(self, path=ANTHROPIC):
        self.path = path
        self.sessions = Sessions(":memory:")
        self.reader = ItemReader()

    def asked(self, items, identity=None, **more):
        body = json.dumps(request(self.path, items, **more)).encode()
        return ModelRequest.read(FORMATS[self.path], body, None, identity, self.reader)

    def send(self, items, reply=None, identity=None, **more):
        asked = self.asked(items, identity, **more)
        ticket = self.sessions.take(asked, self.sessions.locate(asked))
        if reply is not None:
            (message,) = FORMATS[self.path].load_messages(said(self.path, reply))
            return self.sessions.answer(ticket, asked, message) or ticket.session
        return ticket.session

    def texts(self, session):
        opened = self.sessions.session(session, None)
        return [message.text for message in opened.reader.messages(internal=True)]


ME = Identity("me")


def test_an_edited_history_is_a_fork_that_shares_what_stayed():
    book = Recorder()
    first = book.send(["One."], "1", ME)
    history = ["One.", *said(ANTHROPIC, "1"), "Two."]
    assert book.send(history, "2", ME) == first
    fork = book.send(["One.", *said(ANTHROPIC, "1"), "Rather two."], "3", ME)
    assert book.texts(fork) == ["Be brief.", "One.", "1", "Rather two.", "3"]
    assert book.texts(first) == ["Be brief.", "One.", "1", "Two.", "2"]
    shared = [each.reader.pages()[2].handle for each in (book.sessions.session(id_, None) for id_ in (first, fork))]
    assert shared[0] == shared[1]


def test_a_subagent_of_codex_is_a_fork_of_its_parent():
    book = Recorder(RESPONSES)
    parent = book.send(["One."], "1", Identity("codex-t1"))
    history = ["One.", *said(RESPONSES, "1"), "You are a subagent."]
    child = book.send(history, "2", Identity("codex-t2", parent="codex-t1"))
    assert (parent, child) == ("codex-t1", "codex-t2")
    assert book.sessions.store.session(child).parent == parent
    again = book.send([*history, *said(RESPONSES, "2"), "More."], "3", Identity("codex-t2", parent="codex-t1"))
    assert again == child
    assert book.texts(parent) == ["Be brief.", "One.", "1"]


def test_what_a_client_compacted_is_known_as_the_origin():
    book = Recorder()
    first = book.send(["One."], "1", ME)
    summary = "This session is being continued from a previous conversation that ran out of context: one was asked."
    compacted = book.send([summary, *said(ANTHROPIC, "I see."), "Two."], "2", ME)
    assert book.sessions.places.origin(compacted) == first
    edited = book.send(["Another first."], "x", ME)
    assert book.sessions.places.origin(edited) is None


def test_a_call_for_a_compaction_is_beside_the_conversation():
    book = Recorder()
    first = book.send(["One."], "1", ME)
    history = ["One.", *said(ANTHROPIC, "1")]
    aside = book.send([*history, "CRITICAL: Respond with TEXT ONLY. Summarise."], "A summary.", ME)
    assert aside != first
    assert book.texts(first) == ["Be brief.", "One.", "1"]
    went_on = book.send(["A summary.", *said(ANTHROPIC, "Yes."), "Two."], "2", ME)
    assert book.sessions.places.origin(went_on) == first


def test_words_that_were_erased_and_come_again_are_not_written():
    book = Recorder()
    first = book.send(["The password is lily."], "I see.", ME)
    session = book.sessions.session(first, None)
    session.erase(session.reader.pages()[1])
    history = ["The password is lily.", *said(ANTHROPIC, "I see."), "Go on."]
    assert book.send(history, "On.", ME) == first
    assert book.texts(first) == ["Be brief.", "I see.", "Go on.", "On."]
    other = book.send(["The password is lily."], "Another.", Identity("you"))
    assert book.texts(other) == ["Be brief.", "Another."]


def test_instructions_in_the_middle_that_change_tools_are_never_folded_away():
    book = Recorder()
    history = [
        "One.",
        *said(ANTHROPIC, "1"),
        "Two.",
        {"role": "system", "content": [{"type": "tool_addition", "tool": {"name": "x"}}]},
        {"role": "system", "content": "900 tokens left"},
    ]
    session = book.sessions.session(book.send(history, None, ME), None)
    kinds = [session.reader.kind(page) for page in session.reader.pages()[-2:]]
    assert kinds == [pt.PageKind.CONSTRAINT, pt.PageKind.CONVERSATION]


def test_tools_and_developers_that_open_a_request_of_codex_are_instructions():
    book = Recorder(RESPONSES)
    tools = {"type": "additional_tools", "tools": TOOLS[RESPONSES]}
    developer = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Use exec."}]}
    id_ = book.send([tools, developer, "One."], "1", Identity("codex-t"), system=None)
    texts = book.texts(id_)
    assert texts[1:] == ["One.", "1"]
    assert "additional_tools" in texts[0]
    assert texts[0].endswith("Use exec.")


def test_an_item_is_read_once():
    reader = ItemReader()
    raw = json.dumps({"role": "user", "content": "One."}).encode()
    (one,), (same,), (other,) = (reader.read(each, [raw]) for each in (anthropic, anthropic, openai_chat))
    assert one is same
    assert one.fingerprints == other.fingerprints
