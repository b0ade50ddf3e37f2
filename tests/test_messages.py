"""Messages: constructors, readers, and what they refuse."""

import msgspec
import pytest

import pageturn as pt

CALL = pt.ToolCall(id="c1", name="read", arguments='{"path": "a.py"}')


def test_constructors_set_the_role_and_take_text_or_parts():
    assert pt.system("be kind") == pt.Message(role=pt.Role.SYSTEM, content=(pt.Text(text="be kind"),))
    assert pt.developer("x").role is pt.Role.DEVELOPER
    assert pt.user("look", pt.Image(url="https://e.org/a.png")).content[1] == pt.Image(url="https://e.org/a.png")
    assert pt.assistant("first", CALL).tool_calls == (CALL,)


def test_a_constructor_never_makes_an_id():
    assert pt.user("hi").id is None
    assert pt.user("hi") == pt.user("hi")


def test_a_tool_result_answers_a_call_or_its_id():
    assert pt.tool_result(CALL, "body") == pt.tool_result("c1", "body")
    assert pt.tool_result(CALL, "a", "b", is_error=True).tool_results == (
        pt.ToolResult(tool_call_id="c1", content="a\nb", is_error=True),
    )
    mixed = pt.tool_result(CALL, "a", pt.Image(url="u")).tool_results[0]
    assert mixed.content == (pt.Text(text="a"), pt.Image(url="u"))


def test_fields_pass_through_the_constructors():
    message = pt.user("go on", synthetic=True, visibility=pt.Visibility.INTERNAL, metadata={"run_id": "r"})
    assert (message.synthetic, message.visibility, message.metadata) == (True, pt.Visibility.INTERNAL, {"run_id": "r"})


def test_text_joins_the_text_parts_only():
    assert pt.assistant("a", CALL, "b", pt.Thinking(text="hm")).text == "a\nb"


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
        pt.Text(text="hi").text = "ho"


def test_an_old_record_without_visibility_or_metadata_is_visible_to_all():
    message = pt.from_json(pt.Message, b'{"role":"user","content":[]}')
    assert message.visibility is pt.Visibility.ALL
    assert message.metadata == {}


def test_visible_to_all_is_not_spelled_out_on_the_wire():
    assert "visibility" not in msgspec.json.decode(pt.to_json(pt.user("hi")))
