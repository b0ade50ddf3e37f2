"""Whatever is handed to a public entry point, what comes back is a value or an error of ours.

Two exceptions pass, and are no breach: a `TypeError` where the call itself is wrong (an argument too many, one that is missing or
has another name), and whatever a function of the host's own raises.
"""

import json

import pytest

import pageturn as pt
from pageturn.apps.importing import Report, import_file
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.stores import MemoryStore
from pageturn.values.messages import Native, Text
from tests.inputs.entry_points import EVERY
from tests.inputs.values import HOSTILE
from tests.long import examples
from tests.sessions import open_session, take_tasks

HOSTS_OWN = {(name, kind) for name in ("clock", "entropy") for kind in ("function", "type")}
EVERY_NTH = examples(3, whole=1)  # hostile value, of which each argument gets others
CASES = [(point, argument) for point in EVERY for argument in point.arguments]


@pytest.mark.parametrize(("point", "argument"), CASES, ids=[f"{point.name}-{argument}" for point, argument in CASES])
def test_an_argument_of_any_kind_gives_a_value_or_an_error_of_ours(point, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some values are names of files
    first = CASES.index((point, argument)) % EVERY_NTH
    for name, make in [*HOSTILE.items()][first::EVERY_NTH]:
        if (argument, name) in HOSTS_OWN:
            continue
        try:
            point.call(argument, make())
        except pt.PageturnError as error:
            if not str(error).strip():
                raise AssertionError(f"{point.name}({argument}={name}): an error without words") from error
        except Exception as error:
            raise AssertionError(f"{point.name}({argument}={name}): {type(error).__name__}") from error


REFUSED = (
    "unpin",
    "erase",
    "explain",
    "Router.choose_router_target, decision",
    "Router.observe",
    "from_json",
    "register_policy",
)


@pytest.mark.parametrize("point", EVERY, ids=lambda point: point.name)
def test_the_arguments_that_others_are_put_in_place_of_are_accepted(point):
    argument, value = next(iter(point.arguments.items()))
    if point.name in REFUSED:
        with pytest.raises(pt.InvalidInput):
            point.call(argument, value)
    else:
        point.call(argument, value)


def test_every_public_name_that_can_be_called_is_looked_at():
    points = " ".join(point.name for point in EVERY)
    covered = {
        name
        for name in pt.__all__
        if name in points or name in ("Message", "Part") or isinstance(getattr(pt, name), type)
    }
    assert {name for name in pt.__all__ if callable(getattr(pt, name))} - covered == set()
    methods = {name for name in dir(pt.Session) if not name.startswith("_") and callable(getattr(pt.Session, name))}
    without_arguments = {
        "answer",
        "checkpoint",
        "close",
        "embed",
        "fault_counts",
        "faults",
        "pages",
        "pending",
        "refresh",
        "waiting",
    }
    assert methods - {point.name for point in EVERY} - without_arguments == {"open"}


def imported(tmp_path, value, name="log.json"):
    file = tmp_path / name
    file.write_text(json.dumps(value))
    report = Report()
    import_file(MemoryStore(), file, report)
    return report


@pytest.mark.parametrize("role", [[], {}, 5, None, True, [["user"]]])
def test_a_role_that_is_no_text_is_left_out_of_an_import(tmp_path, role):
    messages = [{"role": "user", "content": "kept"}, {"role": role, "content": "x"}]
    report = imported(tmp_path, {"messages": messages})
    assert (report.messages, report.skipped["message not understood"]) == (1, 1)


def test_parts_that_are_no_list_are_refused():
    with pytest.raises(pt.InvalidInput, match=r"parts: expected a list, got True"):
        gemini.load_reply({"candidates": [{"content": {"role": "model", "parts": True}}]})


@pytest.mark.parametrize(
    ("vendor", "given"),
    [
        (
            anthropic,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"a": "\ud800"}}]},
        ),
        (gemini, {"parts": [{"functionCall": {"name": "f", "args": {"a": "\ud800"}}}]}),
        (gemini, {"parts": [{"functionResponse": {"name": "f", "response": {"a": "\ud800"}}}]}),
    ],
)
def test_half_a_character_in_what_a_call_says_is_refused(vendor, given):
    with pytest.raises(pt.InvalidInput, match="text that is valid Unicode, got the lone surrogate"):
        vendor.load_messages([given])


@pytest.mark.parametrize("vendor", [anthropic, gemini, openai_chat, openai_responses])
@pytest.mark.parametrize("item", [{}, {"type": None}, {"type": []}, {"type": {}}, {"content": 5}, {"a": [[]]}])
def test_an_item_without_its_fields_can_be_sent(vendor, item):
    native = Native(vendor=vendor.VENDOR, item=item, text="said")
    for role in pt.Role:
        assert vendor.dump([pt.Message(role=role, content=(native,)), pt.user("go on")])


@pytest.mark.parametrize("digits", [5, 12, 13, 5_000, 100_000])
def test_a_number_of_any_length_in_an_overflow_is_read(digits):
    session = open_session()
    session.append(pt.user("hello"))
    for number in range(9):
        session.extend([pt.assistant(f"step {number} " * 200), pt.user("go on")])
    before = session.derive().tokens
    assert session.overflow(f"prompt is too long: {'9' * digits} tokens > 200000 maximum")
    assert session.derive().tokens < before


@pytest.mark.parametrize("line", ['{"a":' * 3_000, "[" * 100_000, '{"kind": "goal_set", "objective": ' + "[" * 5_000])
def test_a_line_of_a_task_log_that_never_ends_is_counted_as_damaged(line):
    assert take_tasks(open_session(), [line]).damaged_lines == 1


@pytest.mark.parametrize("url", ["\ud800.db", "sqlite:\ud800.db", "sqlite:a.db?\ud800=1"])
def test_a_path_with_half_a_character_is_refused(url):
    for act in (pt.Session.open, pt.Router.open):
        with pytest.raises(pt.InvalidInput, match="url: expected"):
            act(url)


@pytest.mark.parametrize("text", [b"bytes", bytearray(b"x"), 5, None])
@pytest.mark.parametrize(
    "message",
    [
        lambda text: pt.user(Text(text=text)),
        lambda text: pt.user(pt.Image(url=text)),
        lambda text: pt.assistant(pt.ToolCall(id="a", name="f", arguments=text)),
        lambda text: pt.tool_result("a", Text(text=text)),
        lambda text: pt.assistant(Native(vendor="x", item={}, text=text)),
    ],
)
def test_what_is_no_text_is_neither_written_nor_sent_as_text(message, text):
    session = open_session()
    with pytest.raises(pt.InvalidInput):
        session.append(message(text))
    assert session.reader.pages() == ()
    for vendor in (anthropic, gemini, openai_chat, openai_responses):
        with pytest.raises(pt.InvalidInput):
            vendor.dump([message(text)])


@pytest.mark.parametrize("vendor", [anthropic, gemini, openai_chat, openai_responses])
@pytest.mark.parametrize("levels", [90, 400, 990, 50_000])
def test_arguments_that_are_nested_deeply_are_kept_and_sent_as_they_came(vendor, levels):
    arguments = '{"a":' + "[" * levels + "]" * levels + "}"
    session = open_session(policy=pt.Paged(3_000))
    call = pt.ToolCall(id="c", name="f", arguments=arguments)
    session.extend([pt.user("go"), pt.assistant(call), pt.tool_result(call, "done")])
    assert vendor.dump(session.derive(budget_tokens=100_000))
    assert next(iter(session.resolve(session.reader.pages()[1]).message.tool_calls)).arguments == arguments
