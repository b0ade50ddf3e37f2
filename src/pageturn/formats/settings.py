"""Translates request settings from one vendor's form to another's.

Only a few mean the same everywhere: the maximum length of the answer, sampling, stop sequences, tool choice, and streaming. All others
belong to one vendor and are left out of another vendor's request.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from pageturn.formats.calls import fitting_name
from pageturn.formats.fields import snake, spelled
from pageturn.formats.tools import ANTHROPIC, CHAT, GEMINI, RESPONSES
from pageturn.values.prompt import Prompt

T = TypeVar("T")


class Common(NamedTuple):
    """The settings with the same meaning for every vendor, each None if it is not set."""

    output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: list[str] | None = None
    calls: str | None = None  # auto, required or none
    tool: str | None = None  # the one that must be called
    is_parallel: bool | None = None
    is_streamed: bool | None = None


def settings_for(prompt: Prompt, vendor: str, *, has_tools: bool) -> dict[str, Any]:
    """The settings of a prompt in a vendor's form: its own unchanged, with the model; of others' those with a common meaning."""
    if prompt.vendor in (None, vendor):
        named = {"model": prompt.model} if prompt.vendor == vendor and prompt.model is not None else {}
        return {**named, **prompt.settings}
    read = _READ.get(prompt.vendor)
    common = read(prompt.settings) if read is not None else Common()
    if not has_tools:  # a vendor rejects a tool choice without tools
        common = common._replace(calls=None, tool=None, is_parallel=None)
    if common.tool is not None:
        common = common._replace(tool=fitting_name(common.tool, vendor))
    return _WRITTEN[vendor](common)


# -- in


def _chat(settings: Mapping[str, Any]) -> Common:
    stop = settings.get("stop")
    calls, tool = _openai_choice(settings.get("tool_choice"))
    return Common(
        output_tokens=_of(int, settings.get("max_completion_tokens", settings.get("max_tokens"))),
        temperature=_number(settings.get("temperature")),
        top_p=_number(settings.get("top_p")),
        stop=_texts([stop] if isinstance(stop, str) else stop),
        calls=calls,
        tool=tool,
        is_parallel=_of(bool, settings.get("parallel_tool_calls")),
        is_streamed=_of(bool, settings.get("stream")),
    )


def _responses(settings: Mapping[str, Any]) -> Common:
    calls, tool = _openai_choice(settings.get("tool_choice"))
    return Common(
        output_tokens=_of(int, settings.get("max_output_tokens")),
        temperature=_number(settings.get("temperature")),
        top_p=_number(settings.get("top_p")),
        calls=calls,
        tool=tool,
        is_parallel=_of(bool, settings.get("parallel_tool_calls")),
        is_streamed=_of(bool, settings.get("stream")),
    )


def _openai_choice(choice: Any) -> tuple[str | None, str | None]:
    match choice:
        case "auto" | "required" | "none":
            return choice, None
        case {"type": "function", "name": str() as name} | {"type": "function", "function": {"name": str() as name}}:
            return "required", name
        case _:
            return None, None


def _anthropic(settings: Mapping[str, Any]) -> Common:
    choice = settings.get("tool_choice")
    kind, tool, alone = None, None, None
    if isinstance(choice, Mapping):
        kind = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}.get(spelled(choice.get("type")))
        tool = _of(str, choice.get("name"))
        alone = _of(bool, choice.get("disable_parallel_tool_use"))
    return Common(
        output_tokens=_of(int, settings.get("max_tokens")),
        temperature=_number(settings.get("temperature")),
        top_p=_number(settings.get("top_p")),
        stop=_texts(settings.get("stop_sequences")),
        calls=kind,
        tool=tool,
        is_parallel=None if alone is None else not alone,
        is_streamed=_of(bool, settings.get("stream")),
    )


def _gemini(settings: Mapping[str, Any]) -> Common:
    config = settings.get("config")
    if not isinstance(config, Mapping):
        return Common()
    calling = snake(config.get("tool_config") or {})
    calling = calling.get("function_calling_config") if isinstance(calling, Mapping) else None
    calling = calling if isinstance(calling, Mapping) else {}
    names = _texts(calling.get("allowed_function_names"))
    kind = {"AUTO": "auto", "ANY": "required", "NONE": "none"}.get(spelled(calling.get("mode")).upper())
    return Common(
        output_tokens=_of(int, config.get("max_output_tokens")),
        temperature=_number(config.get("temperature")),
        top_p=_number(config.get("top_p")),
        stop=_texts(config.get("stop_sequences")),
        calls=kind,
        tool=names[0] if kind == "required" and names is not None and len(names) == 1 else None,
    )


def _of(type_: type[T], value: object) -> T | None:
    """A value if it has the type; another is left out, as the vendor would have rejected it."""
    return value if isinstance(value, type_) and (type_ is bool or not isinstance(value, bool)) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(value: object) -> list[str] | None:
    is_list = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return list(value) if is_list and isinstance(value, list | tuple) and value else None


_READ: Mapping[str | None, Callable[[Mapping[str, Any]], Common]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
}


# -- out


def _to_chat(common: Common) -> dict[str, Any]:
    named = {"type": "function", "function": {"name": common.tool}}
    return _said(
        max_completion_tokens=common.output_tokens,
        temperature=common.temperature,
        top_p=common.top_p,
        stop=common.stop,
        tool_choice=named if common.tool is not None else common.calls,
        parallel_tool_calls=common.is_parallel,
        stream=common.is_streamed,
    )


def _to_responses(common: Common) -> dict[str, Any]:
    return _said(
        max_output_tokens=common.output_tokens,
        temperature=common.temperature,
        top_p=common.top_p,
        tool_choice={"type": "function", "name": common.tool} if common.tool is not None else common.calls,
        parallel_tool_calls=common.is_parallel,
        stream=common.is_streamed,
    )


def _to_anthropic(common: Common) -> dict[str, Any]:
    """Its newer models, and its client, accept no sampling parameters."""
    kind = {"auto": "auto", "required": "any", "none": "none"}.get(common.calls or "")
    choice: dict[str, Any] = (
        {"type": "tool", "name": common.tool} if common.tool is not None else {"type": kind} if kind else {}
    )
    if common.is_parallel is False and kind != "none":
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": True}
    return _said(
        max_tokens=common.output_tokens,
        stop_sequences=common.stop,
        tool_choice=choice or None,
        stream=common.is_streamed,
    )


def _to_gemini(common: Common) -> dict[str, Any]:
    """Streaming is another method of its client, so it is not set here."""
    calling = _said(
        mode={"auto": "AUTO", "required": "ANY", "none": "NONE"}.get(common.calls or ""),
        allowed_function_names=[common.tool] if common.tool is not None else None,
    )
    config = _said(
        max_output_tokens=common.output_tokens,
        temperature=common.temperature,
        top_p=common.top_p,
        stop_sequences=common.stop,
        tool_config={"function_calling_config": calling} if calling else None,
    )
    return _said(config=config or None)


def _said(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


_WRITTEN: Mapping[str, Callable[[Common], dict[str, Any]]] = {
    CHAT: _to_chat,
    RESPONSES: _to_responses,
    ANTHROPIC: _to_anthropic,
    GEMINI: _to_gemini,
}
