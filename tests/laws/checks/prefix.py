"""Between folds nothing that was sent changes: block by block, the last context without its suffix begins the next one."""

from collections.abc import Iterator
from typing import Any

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.messages import Text
from tests.laws.case import Case

_DUMPS = {"anthropic": anthropic.dump, "gemini": gemini.dump, "openai_chat": openai_chat.dump, "openai_responses": openai_responses.dump}  # fmt: skip


def problems(case: Case) -> Iterator[str]:
    for text in case.model.taken_back:
        if any(message.text == text for message in case.context.messages):
            yield f"a note that was taken back at once is still sent: {text[:40]!r}"
    before = case.before
    if before is None or case.context.fold is not None:
        return
    yield from _compared("messages", _blocks(before.messages[: before.bands.history]), _blocks(case.context.messages))
    if before.bands.history == len(before.messages) and before.model == case.context.model:
        for name, dump in _DUMPS.items():
            yield from _compared(name, _without_filler(flat(dump(before)), before), flat(dump(case.context)))


def _without_filler(blocks: list[Any], context: pt.Context) -> list[Any]:
    """The blocks without words that a format put at the end because a person has to speak last."""
    said = {part.text for message in context.messages for part in message.content if isinstance(part, Text)}
    role, last = blocks[-1] if blocks else ("", {})
    is_filler = role == "user" and isinstance(last, dict) and "text" in last and last["text"] not in said
    return blocks[:-1] if is_filler else blocks


def _blocks(messages: tuple[pt.Message, ...]) -> list[Any]:
    return [(message.role, part) for message in messages for part in message.content]


def _compared(where: str, before: list[Any], now: list[Any]) -> Iterator[str]:
    if now[: len(before)] == before or (len(now) >= len(before) and _grows(before[-1], now[len(before) - 1]) and
                                        now[: len(before) - 1] == before[:-1]):  # fmt: skip
        return
    pairs = zip(before, now, strict=False)
    at = next((n for n, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))
    old = f"{before[at]!r:.160}" if at < len(before) else "nothing"
    new = f"{now[at]!r:.160}" if at < len(now) else "nothing"
    yield f"{where}: block {at} of {len(before)} was {old}, is {new}, and no fold says so"


def _grows(before: Any, now: Any) -> bool:
    """Whether a plain text has only got longer, where a format takes nothing else."""
    texts = [block.get("text") if isinstance(block, dict) else None for _, block in (before, now)]
    return before[0] == now[0] and all(isinstance(text, str) for text in texts) and texts[1].startswith(texts[0])


def flat(request: dict[str, Any]) -> list[Any]:
    """The blocks of a request in the order in which a model reads them, with who speaks; marks of a cache do not count."""
    system = (
        request.get("system")
        or (request.get("config") or {}).get("system_instruction")
        or request.get("systemInstruction")
        or request.get("instructions")
    )
    blocks: list[Any] = [("system", part) for part in _parts(system)]
    for message in request.get("messages") or request.get("contents") or request.get("input") or ():
        role = message.get("role", message.get("type"))
        inner = message.get("content", message.get("parts"))
        rest = {name: value for name, value in message.items() if name not in ("content", "parts", "role")}
        calls = rest.pop("tool_calls", None) or []
        blocks += [(role, part) for part in _parts(inner)]
        blocks += [(role, _plain(call)) for call in calls]
        if rest and rest != {"type": "message"}:
            blocks.append((role, _plain(rest)))
    return blocks


def _parts(content: Any) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return _parts(content.get("parts"))
    return [_plain(part) for part in content]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name != "cache_control"}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
