"""What `dump` and the loaders share for all vendors: checking their input, and reading tools, model and settings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pageturn.formats.fields import Fields, as_json, plain
from pageturn.values.checks import require_instance, require_several, require_whole
from pageturn.values.context import Context
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message, require_sound
from pageturn.values.prompt import Bands, Prompt
from pageturn.values.recall_tool import RecallTool

# -- in


_RESPONSES: dict[str, Callable[[dict[str, Any]], bool]] = {  # how to recognise the whole response of each vendor
    "openai_chat": lambda raw: "choices" in raw,
    "openai_responses": lambda raw: raw.get("object") == "response",
    "anthropic": lambda raw: raw.get("type") == "message" and "stop_reason" in raw,
    "gemini": lambda raw: "candidates" in raw,
}


def reply_of(reply: object, vendor: str) -> Any:
    """The response, or the message alone, given to `load_reply` of a vendor's format."""
    raw = own_reply(reply, vendor)
    if isinstance(raw, list):
        raise InvalidInput("$", expected="one reply (the events of a stream are for Stream)", got=show(raw))
    return raw


def own_reply(reply: object, vendor: str) -> Any:
    """A reply as plain JSON values; the whole response of another vendor is refused, naming the format that reads it."""
    raw = plain(reply)
    known = [name for name, is_response in _RESPONSES.items() if isinstance(raw, dict) and is_response(raw)]
    if known and vendor not in known:
        got = f"one of {known[0]}, which pageturn.formats.{known[0]}.load_reply reads"
        raise InvalidInput("$", expected=f"a reply of {vendor}", got=got)
    return raw


def request_fields(body: object) -> Fields:
    """The fields of a request."""
    request = plain(body)
    if isinstance(request, list):
        raise InvalidInput("$", expected="a request (load_messages takes a list of messages)", got=show(request))
    fields = Fields(request, "$")
    for name in fields.rest:
        if not isinstance(name, str):
            raise InvalidInput("$", expected="fields with texts for names", got=show(name))
    return fields


def listed(messages: object) -> list[Any]:
    """The messages given to `load_messages`."""
    several = plain(messages)
    if isinstance(several, list):
        return several
    hint = " (load_request takes a request, load_reply a response)" if isinstance(several, dict) else ""
    raise InvalidInput("$", expected=f"a list of messages{hint}", got=show(several))


def several_in(fields: Fields, name: str, expected: str = "a list") -> list[Any]:
    """A required list; a tuple is accepted too."""
    value = fields.rest.pop(name, None)
    if isinstance(value, list | tuple):
        return [*value]
    raise InvalidInput(f"{fields.path}.{name}", expected=expected, got="nothing" if value is None else show(value))


def model_in(fields: Fields) -> str | None:
    """The model of a request."""
    model = fields.take("model", str)
    as_json(model, f"{fields.path}.model")
    return model


def tools_in(fields: Fields) -> tuple[Mapping[str, Any], ...]:
    """The tools of a request, unchanged."""
    tools = several_in(fields, "tools") if "tools" in fields.rest else []
    return tuple(_tool(tool, f"{fields.path}.tools[{index}]") for index, tool in enumerate(tools))


def _tool(tool: object, path: str) -> dict[str, Any]:
    read = plain(tool)
    if not isinstance(read, dict):
        raise InvalidInput(path, expected="an object", got=show(read))
    as_json(read, path)
    return read


def loaded_prompt(fields: Fields, messages: Sequence[Message], marks: tuple[int, ...] | None, vendor: str) -> Prompt:
    """The prompt of a request whose messages were read: with its tools and its model, and the rest of its fields as settings."""
    return Prompt(
        messages=tuple(messages),
        host_tools=tools_in(fields),
        model=model_in(fields),
        marks=marks,
        settings=settings_in(fields),
        vendor=vendor,
    )


def settings_in(fields: Fields) -> dict[str, Any]:
    """The remaining fields of a request, unchanged."""
    settings = {name: plain(value) for name, value in fields.rest.items()}
    for name, value in settings.items():
        as_json(value, f"{fields.path}.{name}")
    return settings


# -- out


def prompt_of(given: object) -> Prompt:
    """The argument of `dump`: a context, a prompt, or messages, which become a prompt without anything else."""
    if isinstance(given, Context):  # which is made here
        return given
    if isinstance(given, Prompt):
        _require_sound(given)
        return given
    wanted = "a Context, a Prompt or a list of messages"
    if isinstance(given, Message):
        raise InvalidInput("prompt", expected=f"{wanted} (for one message: dump([message]))", got="a Message")
    if isinstance(given, Mapping):
        hint = "a request is read first: dump(load_request(body))"
        raise InvalidInput("prompt", expected=f"{wanted} ({hint})", got=show(given))
    require_several("prompt", given, wanted)
    assert isinstance(given, Iterable), "it was required to be"
    messages = tuple(given)
    _require_messages("prompt", messages)
    return Prompt(messages=messages)


def expects_answer(given: object, vendor: str) -> bool:
    """Whether `dump` should make a request that can be answered: not for plain messages, or for a vendor's own request."""
    return isinstance(given, Prompt) and given.vendor != vendor


def _require_messages(path: str, messages: Sequence[object]) -> None:
    for index, message in enumerate(messages):
        require_instance(f"{path}[{index}]", message, Message)
        assert isinstance(message, Message), "it was required to be"
        require_sound(message, f"{path}[{index}]")


def _require_sound(prompt: Prompt) -> None:
    """Raise `InvalidInput` if a field of a prompt has another type than declared: constructors check nothing."""
    for name in ("messages", "host_tools"):
        require_instance(f"prompt.{name}", getattr(prompt, name), tuple)
    _require_messages("prompt.messages", prompt.messages)
    for index, tool in enumerate(prompt.host_tools):
        _require_fields(f"prompt.host_tools[{index}]", tool)
    _require_fields("prompt.settings", prompt.settings)
    for name, type_ in (
        ("recall_tool", RecallTool),
        ("model", str),
        ("vendor", str),
        ("marks", tuple),
        ("bands", Bands),
    ):
        if getattr(prompt, name) is not None:
            require_instance(f"prompt.{name}", getattr(prompt, name), type_)
    for index, mark in enumerate(prompt.marks or ()):
        require_whole(f"prompt.marks[{index}]", mark, below=len(prompt.messages))
    for index, end in enumerate(prompt.bands or ()):
        require_whole(f"prompt.bands[{index}]", end)
    require_whole("prompt.frozen", prompt.frozen)


def _require_fields(path: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInput(path, expected="an object", got=show(value))
    odd = next((name for name in value if not isinstance(name, str)), None)
    if odd is not None:
        raise InvalidInput(path, expected="fields with texts for names", got=show(odd))
