"""What is wrong with the shape of a request, looked at without the library: one list of complaints for each vendor."""

import json
import re

from pageturn.formats import anthropic, gemini, openai_chat, openai_responses

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
SENTINEL = b"skip_thought_signature_validator"


def says_something(text):
    return isinstance(text, str) and bool(text.strip())


def alternation(roles):
    if roles[:1] != ["user"]:
        yield f"begins with {roles[:1]}"
    yield from (f"{a} after {b}" for b, a in zip(roles, roles[1:], strict=False) if a == b)


def anthropic_problems(request):
    messages = request["messages"]
    yield from alternation([message["role"] for message in messages])
    for block in request.get("system", []):
        if block["type"] != "text" or not says_something(block["text"]):
            yield f"system block {block}"
    if json.dumps(request).count('"cache_control"') > 4:
        yield "too many ends of the cache"
    seen, open_ids = set(), []
    for message in messages:
        role, content = message["role"], message["content"]
        if not isinstance(content, list) or not content:
            yield f"content {content!r}"
            continue
        if role == "user":
            head = [block.get("tool_use_id") for block in content[: len(open_ids)]]
            if head != open_ids:
                yield f"results {head} for calls {open_ids}"
            if any(block["type"] == "tool_result" for block in content[len(open_ids) :]):
                yield "a result behind something else"
            open_ids = []
        elif open_ids:
            yield "calls without results"
        for block in content:
            yield from anthropic_block(block, role)
            if block["type"] == "tool_use":
                if block["id"] in seen or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", block["id"]):
                    yield f"id {block['id']}"
                if not isinstance(block["input"], dict):
                    yield "input"
                seen.add(block["id"])
                open_ids.append(block["id"])
        if content[-1]["type"] in ("thinking", "redacted_thinking"):
            yield "thinking at the end"
    if open_ids:
        yield "calls without results at the end"


def anthropic_block(block, role):
    allowed = {"user": ("text", "image", "document", "tool_result"), "assistant": ("text", "thinking", "tool_use")}
    if block["type"] not in allowed[role]:
        yield f"{block['type']} by {role}"
    if block["type"] == "text" and not says_something(block["text"]):
        yield "empty text"
    if block["type"] == "thinking" and not block["signature"]:
        yield "no signature"
    if block["type"] == "image" and block["source"].get("media_type", "image/png") not in PICTURES:
        yield f"image of {block['source']}"
    if block["type"] == "tool_result":
        content = block.get("content")
        if content in ("", []) or (content is None and block.get("is_error")):
            yield "empty result"
        for inner in content if isinstance(content, list) else []:
            yield from anthropic_block(inner, "user")


def chat_problems(request, model):
    messages = request["messages"]
    own = model.startswith(("gpt-", "o3"))
    spoken = [message["role"] for message in messages]
    instructions = [at for at, role in enumerate(spoken) if role in ("system", "developer")]
    if instructions and (not own and instructions != [0]):
        yield f"instructions at {instructions}"
    if len({spoken[at] for at in instructions}) > 1:
        yield "two roles for instructions"
    rest = [role for role in spoken if role not in ("system", "developer")]
    yield from alternation(without_calls(messages) if "mistral" in model else rest[:1])
    yield from (f"two {role}" for role, after in zip(spoken, spoken[1:], strict=False) if role == after != "tool")
    open_ids, seen = [], set()
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            if open_ids[:1] != [message["tool_call_id"]]:
                yield f"result {message['tool_call_id']} for {open_ids}"
            open_ids = open_ids[1:]
        elif open_ids:
            yield f"{role} before the results of {open_ids}"
            open_ids = []
        yield from chat_content(role, content, message, own=own)
        for call in message.get("tool_calls", []):
            pattern = r"[a-zA-Z0-9]{9}" if "mistral" in model else r"[a-zA-Z0-9_-]{1,40}"
            if call["id"] in seen or not re.fullmatch(pattern, call["id"]):
                yield f"id {call['id']}"
            if not own and not isinstance(json.loads(call["function"]["arguments"]), dict):
                yield "arguments"
            seen.add(call["id"])
            open_ids.append(call["id"])
    if open_ids:
        yield "calls without results at the end"


def without_calls(messages):
    """The roles as Mistral's chat templates read them, which jump over calls and results."""
    spoken = [message for message in messages if message["role"] not in ("system", "tool")]
    return [message["role"] for message in spoken if "tool_calls" not in message]


def chat_content(role, content, message, *, own):
    if content is None:
        if role != "assistant" or not message.get("tool_calls"):
            yield f"{role} without content"
    elif isinstance(content, str):
        if not says_something(content):
            yield "empty content"
    else:
        if not content or (not own and role != "user"):
            yield f"parts by {role}"
        for part in content:
            if part["type"] == "text" and not says_something(part["text"]):
                yield "empty part"
            if part["type"] != "text" and role != "user":
                yield f"{part['type']} by {role}"
            if part["type"] == "image_url" and "svg" in part["image_url"]["url"]:
                yield "a drawing"


def responses_problems(request, model):
    own = model.startswith(("gpt-", "o3"))
    spoken, open_ids, seen, reasoned = [], [], set(), False
    items = request["input"]
    for at, item in enumerate(items):
        kind = item["type"]
        if kind == "message":
            spoken.append(item["role"])
            yield from responses_content(item)
        if kind == "reasoning":
            follower = items[at + 1]["type"] if at + 1 < len(items) else None
            if follower not in ("message", "function_call", "reasoning") or items[at + 1].get("role") == "user":
                yield f"reasoning before {follower}"
            reasoned = True
        elif kind == "function_call":
            if "id" in item and not reasoned:
                yield "an id without reasoning"
            if item["call_id"] in seen or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["call_id"]):
                yield f"id {item['call_id']}"
            seen.add(item["call_id"])
            open_ids.append(item["call_id"])
        elif kind == "function_call_output":
            reasoned = False
            if open_ids[:1] != [item["call_id"]]:
                yield f"result {item['call_id']} for {open_ids}"
            open_ids = open_ids[1:]
            if item["output"] in ("", []):
                yield "empty result"
        elif item["role"] != "assistant":
            reasoned = False
            if open_ids:
                yield "a message before results"
    if open_ids:
        yield "calls without results"
    if not own and any(role in ("system", "developer") for role in spoken[1:]):
        yield "instructions in the middle"
    if next((role for role in spoken if role not in ("system", "developer")), "user") != "user":
        yield "begins with the model"
    pairs = zip(items, items[1:], strict=False)
    yield from (
        f"two {a['role']}"
        for a, b in pairs
        if a["type"] == b["type"] == "message" and a["role"] == b["role"] != "assistant"
    )


def responses_content(item):
    content = item["content"]
    if not content or (isinstance(content, str) and not says_something(content)):
        yield "empty content"
    for part in content if isinstance(content, list) else []:
        if part["type"].endswith("_text") and not says_something(part["text"]):
            yield "empty part"
        if part["type"] == "input_image" and item["role"] != "user":
            yield "a picture by another"
        if item["role"] == "assistant" and (part["type"].startswith("input_") or "id" not in item):
            yield f"{part['type']} by the model"


def gemini_problems(request, model):
    contents = request["contents"]
    yield from alternation([content["role"] for content in contents])
    called = []
    for content in contents:
        parts = content["parts"]
        if not parts:
            yield "no parts"
        answers = [part["function_response"] for part in parts if "function_response" in part]
        if [(a["id"], a["name"]) for a in answers] != called or any(
            "function_response" not in part for part in parts[: len(called)]
        ):
            yield f"answers {answers} to {called}"
        calls = [part for part in parts if "function_call" in part]
        if calls and "gemini-2" not in model and not calls[0].get("thought_signature"):
            yield "a first call without a signature"
        called = [(part["function_call"]["id"], part["function_call"]["name"]) for part in calls]
        for part in parts:
            if "text" in part and not says_something(part["text"]):
                yield "empty text"
            if "inline_data" in part and (content["role"] == "model" or "svg" in part["inline_data"]["mime_type"]):
                yield "a picture that is refused"
        if all(part.get("thought") for part in parts):
            yield "thoughts alone"
    if called:
        yield "calls without answers"


def problems_of(vendor, request, model):
    """Everything that is wrong with a request."""
    if vendor is anthropic:
        return list(anthropic_problems(request))
    if vendor is gemini:
        return list(gemini_problems(request, model))
    return list(chat_problems(request, model) if vendor is openai_chat else responses_problems(request, model))


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
