"""Messages: constructors, readers, and what they refuse."""

import msgspec
import pytest

import pageturn as pt
from pageturn.values.messages import Text, Thinking, ToolResult, developer
from pageturn.values.pages import classify

CALL = pt.ToolCall(id="c1", name="read", arguments='{"path": "a.py"}')


def test_constructors_set_the_role_and_take_text_or_parts():
    assert pt.system("be kind") == pt.Message(role=pt.Role.SYSTEM, content=(Text(text="be kind"),))
    assert developer("x").role is pt.Role.DEVELOPER
    assert pt.user("look", pt.Image(url="https://e.org/a.png")).content[1] == pt.Image(url="https://e.org/a.png")
    assert pt.assistant("first", CALL).tool_calls == (CALL,)


def test_a_constructor_never_makes_an_id():
    assert pt.user("hi").id is None
    assert pt.user("hi") == pt.user("hi")


def test_a_tool_result_answers_a_call_or_its_id():
    assert pt.tool_result(CALL, "body") == pt.tool_result("c1", "body")
    assert pt.tool_result(CALL, "a", "b", is_error=True).tool_results == (
        ToolResult(tool_call_id="c1", content="a\nb", is_error=True),
    )
    mixed = pt.tool_result(CALL, "a", pt.Image(url="u")).tool_results[0]
    assert mixed.content == (Text(text="a"), pt.Image(url="u"))


def test_fields_pass_through_the_constructors():
    message = pt.user("go on", synthetic=True, visibility=pt.Visibility.INTERNAL, metadata={"run_id": "r"})
    assert (message.synthetic, message.visibility, message.metadata) == (True, pt.Visibility.INTERNAL, {"run_id": "r"})


def test_text_joins_the_text_parts_only():
    assert pt.assistant("a", CALL, "b", Thinking(text="hm")).text == "a\nb"


def test_the_arguments_of_a_call_are_the_exact_text():
    odd = '{"b": 1,   "a": "\\u00e9"'
    call = pt.ToolCall(id="c", name="n", arguments=odd)
    assert pt.from_json(pt.Message, pt.to_json(pt.assistant(call))).tool_calls[0].arguments == odd


@pytest.mark.parametrize("part", [5, None, b"bytes", {"type": "text", "text": "x"}])
def test_what_is_neither_text_nor_a_part_is_refused(part):
    with pytest.raises(pt.InvalidInput, match=r"\$\.content\[1\]: expected text or a part, got "):
        pt.user("fine", part)


def test_messages_are_frozen():
    with pytest.raises(AttributeError):
        pt.user("hi").role = pt.Role.TOOL
    with pytest.raises(AttributeError):
        Text(text="hi").text = "ho"


def test_an_old_record_without_visibility_or_metadata_is_visible_to_all():
    message = pt.from_json(pt.Message, b'{"role":"user","content":[]}')
    assert message.visibility is pt.Visibility.ALL
    assert message.metadata is None


def test_plain_names_and_lists_are_taken_for_what_they_mean():
    message = pt.Message(role="system", content=["hi", CALL], visibility="internal")
    assert message == pt.Message(
        role=pt.Role.SYSTEM, content=(Text(text="hi"), CALL), visibility=pt.Visibility.INTERNAL
    )
    assert classify(message) is pt.PageKind.BOOTSTRAP


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"role": "userx", "content": ()}, r"\$\.role: expected one of 'system', 'developer', .*, got 'userx'"),
        ({"role": None, "content": ()}, r"\$\.role: expected one of"),
        ({"role": "user", "content": (), "visibility": "none"}, r"\$\.visibility: expected one of 'all', 'internal'"),
        ({"role": "user", "content": "hi"}, r"\$\.content: expected parts, got str 'hi'"),
        ({"role": "user", "content": None}, r"\$\.content: expected parts, got NoneType None"),
        ({"role": pt.Role.USER, "content": (5,)}, r"\$\.content\[0\]: expected text or a part, got int 5"),
        (
            {"role": pt.Role.USER, "content": ({"type": "text"},)},
            r"\$\.content\[0\]: expected text or a part, got dict",
        ),
        ({"role": "user", "content": [5]}, r"\$\.content\[0\]: expected text or a part, got int 5"),
    ],
)
def test_a_message_of_the_wrong_form_is_refused(fields, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        pt.Message(**fields)


def test_a_plain_message_can_be_a_key():
    assert {pt.user("a"): 1}[pt.user("a")] == 1


def test_the_content_of_a_result_reads_as_parts_either_way():
    assert ToolResult(tool_call_id="c", content="x").parts == (Text(text="x"),)
    assert ToolResult(tool_call_id="c", content=(pt.Image(url="u"),)).parts == (pt.Image(url="u"),)


def test_the_arguments_of_a_call_read_as_json_where_they_are():
    assert CALL.parsed == {"path": "a.py"}
    assert pt.ToolCall(id="c", name="n", arguments='{"cut').parsed is None


def test_visible_to_all_is_not_spelled_out_on_the_wire():
    assert "visibility" not in msgspec.json.decode(pt.to_json(pt.user("hi")))
