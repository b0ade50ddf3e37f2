"""headroom: `compress` over the whole history at every turn. It has no budget; the budget is told as the window of the model."""

import json
import re

from headroom import compress
from headroom.cache.compression_store import get_compression_store
from relay import Given, Message, given, message_of, parts, result_text, said, send, text_of, text_part

HASH = re.compile(r"hash=([0-9a-f]{6,64})|<<ccr:([0-9a-f]{6,64})")


def theirs(message: Message) -> Message:
    match message["role"]:
        case "tool":
            (result,) = parts(message, "tool_result")
            return {"role": "tool", "tool_call_id": result["tool_call_id"], "content": result_text(result)}
        case "assistant":
            calls = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in parts(message, "tool_call")
            ]
            return {"role": "assistant", "content": said(message)} | ({"tool_calls": calls} if calls else {})
        case role:
            images = [{"type": "image_url", "image_url": {"url": part["url"]}} for part in parts(message, "image")]
            text = said(message)
            return {"role": role, "content": [{"type": "text", "text": text}, *images] if images else text}


def ours(message: Message) -> Message:
    content = message.get("content") or ""
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_call_id": message["tool_call_id"], "content": str(content)}
        return message_of("tool", result)
    calls = [{"type": "tool_call", "id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]
    texts = [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]
    return message_of(message["role"], *map(text_part, texts), *calls)


def recalled(session: Given, place: int, text: str) -> dict[int, str]:
    """What their store gives back for the markers of a message, if that is all of it."""
    for found in HASH.finditer(text):
        entry = get_compression_store().retrieve(found[1] or found[2])
        if entry is not None and entry.original_content == text_of(session.messages[place]):
            return {place: entry.original_content}
    return {}


def main(session: Given) -> None:
    history = [theirs(message) for message in session.messages]
    for turn in session.turns:
        sent = compress(
            json.loads(json.dumps(history[:turn])), model="gpt-4o", model_limit=session.budget_tokens
        ).messages
        told: list[int | Message] = []
        back: dict[int, str] = {}
        # Messages are never dropped, so one is put where it was.
        for place, (was, now) in enumerate(zip(history, sent, strict=False)):
            told.append(place if now == was else ours(now))
            if now != was:
                back |= recalled(session, place, str(now.get("content")))
        send(told + [ours(message) for message in sent[turn:]], back)


if __name__ == "__main__":
    main(given())
