"""Files that the agent changes: what a policy is told about them, however the call is spelt, and what Paged makes of it."""

import json
import re

import pytest

import pageturn as pt
from tests.context.test_turns import work
from tests.sessions import call, open_session


@pt.register_policy("listener_in_tests")
class Listener(pt.DerivePolicy):
    """Keeps what it was told."""

    def plan(self, frame, least, tokens):
        heard.update({unit.first: str(unit.about) for unit in frame.candidates})
        return {}


heard = {}
EDITS = {
    "old_string": {"path": "src/auth.py", "old_string": "a", "new": "b"},
    "old_str": {"path": "src/auth.py", "old_str": "a"},
    "filePath": {"filePath": "/repo/src/auth.py", "oldString": "a", "newString": "b"},
    "absolute_path": {"absolute_path": "/repo/src/auth.py", "content": "b"},
    "oldText": {"path": "src/auth.py", "oldText": "a"},
    "oldString": {"path": "src/auth.py", "oldString": "a"},
    "new_string": {"file_path": "/repo/src/auth.py", "new_string": "b"},
    "content": {"path": "auth.py", "content": "b"},
    "edits": {"path": "src/auth.py", "edits": [["a", "b"]]},
    "file_text": {"path": "src/auth.py", "file_text": "b"},
    "update": {"input": "*** Begin Patch\n*** Update File: src/auth.py\n@@\n-a\n+b\n*** End Patch"},
    "delete": {"input": "*** Begin Patch\n*** Delete File: src/auth.py\n*** End Patch"},
    "add": {"input": "*** Begin Patch\n*** Add File: src/auth.py\n+b\n*** End Patch"},
}


def told_after(session, name, arguments):
    """What a policy hears of a file, of another one, and of a call that may change the first."""
    heard.clear()
    session.append(pt.user("Look after the login."))
    pages = []
    for number, path in enumerate(("src/auth.py", "src/other.py")):
        read = call(number, "read", json.dumps({"path": path}))
        pages.append(session.append(pt.assistant("reading", read)).seq)
        session.append(pt.tool_result(read, f"value = {number}\n" * 20))
    changing = call(9, name, json.dumps(arguments))
    pages.append(session.append(pt.assistant("changing", changing)).seq)
    session.append(pt.tool_result(changing, "done"))
    session.choose(Listener())
    session.derive()
    return [heard[page] for page in pages]


@pytest.mark.parametrize("spelling", EDITS)
def test_a_file_is_edited_however_the_call_is_spelt(spelling):
    assert told_after(open_session(), "change", EDITS[spelling]) == ["edited", "file", "edit"]


@pytest.mark.parametrize("spelling", EDITS)
def test_what_a_policy_learns_is_what_the_ledger_says(spelling):
    session = open_session(policy=pt.Reset(1_200))
    session.append(pt.user("Look after the login."))
    changing = call(9, "change", json.dumps(EDITS[spelling]))
    session.extend([pt.assistant("changing", changing), pt.tool_result(changing, "done")])
    texts = "\n".join(message.text for message in work(session, 16)[-1].messages)
    ledger = texts.partition("changed:")[2].partition("</page>")[0]
    assert re.fullmatch(r"\np3-\w{4} \S*auth\.py (?:changed|patched \w{8} \(\d lines\))\n", ledger)


READS = ({"path": "src/auth.py"}, {"path": "src/auth.py", "limit": 20}, {"filePath": "/repo/src/auth.py"})


@pytest.mark.parametrize("arguments", READS)
def test_a_call_that_only_reads_edits_nothing(arguments):
    assert told_after(open_session(), "read", arguments) == ["file", "file", "file"]


def test_a_text_about_patches_is_not_one():
    arguments = {"command": "grep '*** Update File: src/auth.py' log"}
    assert told_after(open_session(), "bash", arguments)[0] == "file"


def reading(session, *paths, **asked):
    """Files that are read by one message, as the unit that they are to a policy."""
    calls = [call(path, "read", json.dumps({"filePath": path} | asked)) for path in paths]
    first = session.append(pt.assistant("reading", *calls)).seq
    session.extend([pt.tool_result(each, f"of {each.id}\n" * 20) for each in calls])
    return first


def seen_after(session):
    seen.clear()
    session.choose(Looker())
    session.derive()
    return seen


@pt.register_policy("looker_in_tests")
class Looker(pt.DerivePolicy):
    """Keeps what it saw."""

    def plan(self, frame, least, tokens):
        seen.update({unit.first: unit for unit in frame.candidates})
        return {}


seen = {}


def test_files_that_are_read_at_once_are_one_unit_about_all_of_them():
    session = open_session()
    session.append(pt.user("Look after the login."))
    both, other = reading(session, "src/other.py", "src/auth.py"), reading(session, "src/last.py")
    edit = call("edit", "edit", json.dumps({"filePath": "src/auth.py", "oldString": "a", "newString": "b"}))
    session.extend([pt.assistant("changing", edit), pt.tool_result(edit, "done")])
    units = seen_after(session)
    assert (units[both].about, units[both].since_edit) == ("edited", 0)
    assert (units[other].about, units[other].since_edit) == ("file", None)


def test_files_that_were_read_at_once_are_superseded_when_all_were_read_again():
    session = open_session()
    session.append(pt.user("Look after the login."))
    both = reading(session, "src/other.py", "src/auth.py")
    reading(session, "src/other.py", limit=50)
    assert not seen_after(session)[both].is_superseded
    reading(session, "src/auth.py", limit=50)
    assert seen_after(session)[both].is_superseded


def test_of_two_old_files_the_one_that_was_edited_has_no_lower_level():
    session = open_session(policy=pt.Paged.thrifty(6_000))
    session.append(pt.user("Look after the login."))
    handles = {}
    for path in ("src/auth.py", "src/other.py"):
        read = call(path, "read", json.dumps({"path": path}))
        session.append(pt.assistant("reading", read))
        body = "\n".join(f"def step_{n}(value):\n    return value + {n}" for n in range(40))
        handles[path] = session.append(pt.tool_result(read, f"# {path}\n{body}")).handle
    edit = call("edit", "edit", json.dumps({"path": "src/auth.py", "old_string": "+ 1", "new_string": "+ 2"}))
    session.extend([pt.assistant("changing", edit), pt.tool_result(edit, "done")])
    work(session, 12)
    context = session.derive()
    assert context.explain(handles["src/auth.py"]).level >= context.explain(handles["src/other.py"]).level
