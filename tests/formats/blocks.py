"""A request as the blocks that the model reads, and whether those of one begin those of the next."""

from pageturn.formats import gemini, openai_chat, openai_responses


def blocks_of(vendor, request):
    """The blocks of a request in the order in which the model reads them, each with its role."""
    if vendor is gemini:
        return [(content["role"], part) for content in request["contents"] for part in content["parts"]]
    if vendor is openai_responses:
        return [pair for item in request["input"] for pair in responses_blocks(item)]
    return [pair for message in request["messages"] for pair in message_blocks(message)]


def responses_blocks(item):
    if item["type"] != "message" or isinstance(item["content"], str):
        return [("item", item)]
    return [(item["role"], part) for part in item["content"]]


def message_blocks(message):
    content = message.get("content", [])
    shown = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [(message["role"], {k: v for k, v in block.items() if k != "cache_control"}) for block in shown]
    return blocks + [(message["role"], call) for call in message.get("tool_calls", [])]


def is_prefix(vendor, before, after):
    """Whether the blocks of a request begin the blocks of the next; in chat the last text of the model may have grown."""
    if not before or after[: len(before)] == before:
        return True
    grown = vendor is openai_chat and before[:-1] == after[: len(before) - 1] and len(after) >= len(before)
    if not grown:
        return False
    (role, old), (now, new) = before[-1], after[len(before) - 1]
    return role == now == "assistant" and new.get("text", "").startswith(old.get("text", "-"))


def blank_texts(value):
    """Texts of nothing but blanks, anywhere in a request; a part that carries a signature may be without words."""
    if isinstance(value, list):
        return [text for each in value for text in blank_texts(each)]
    if not isinstance(value, dict):
        return []
    is_blank = isinstance(value.get("text"), str) and not value["text"].strip()
    own = [value["text"]] if is_blank and "thought_signature" not in value else []
    inner = [text for name, each in value.items() if name not in ("args", "input") for text in blank_texts(each)]
    content = value.get("content")
    return own + inner + ([content] if isinstance(content, str) and not content.strip() else [])
