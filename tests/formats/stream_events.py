"""Whole responses, cut at random into the events that their vendor would have streamed."""

import copy
import json
from itertools import pairwise

from hypothesis import strategies as st

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
names = st.sampled_from(["read", "stat", "run"])
arguments = st.dictionaries(words, words | st.integers(-9, 9) | st.lists(words, max_size=2), max_size=3)
signatures = st.text("abcdef0123456789", min_size=4, max_size=8)


def numbered(made):
    """The items of a list, each with a number of its own for its ids."""
    return [make(number) for number, make in enumerate(made)]


def lists_of(*kinds, **size):
    return st.lists(st.one_of(*kinds), **size).map(numbered)


def pieces(rnd, text):
    """A text in pieces, some of them empty."""
    marks = sorted(rnd.randrange(len(text) + 1) for _ in range(rnd.randrange(4)))
    return [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]


def interleaved(rnd, queues):
    """What several queues hold, each in its order, in any order between them."""
    queues = [list(queue) for queue in queues if queue]
    while queues:
        queue = rnd.choice(queues)
        yield queue.pop(0)
        queues = [queue for queue in queues if queue]


# -- OpenAI, chat


def chat_call(name, arguments, is_custom):
    if is_custom:
        return lambda n: {"id": f"c{n}", "type": "custom", "custom": {"name": name, "input": json.dumps(arguments)}}
    return lambda n: {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


chat_messages = st.fixed_dictionaries(
    {"role": st.just("assistant")},
    optional={
        "content": words,
        "refusal": words,
        "reasoning_content": words,
        "audio": st.builds(lambda text: {"id": "audio_1", "transcript": text}, words),
        "annotations": st.lists(st.builds(lambda url: {"type": "url_citation", "url": url}, words), min_size=1),
        "tool_calls": lists_of(st.builds(chat_call, names, arguments, st.booleans()), min_size=1, max_size=3),
    },
)
chat_responses = st.builds(
    lambda message, tokens, logprobs: {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
                "message": message,
                **({"logprobs": {"content": logprobs}} if logprobs else {}),
            }
        ],
        "usage": {
            "prompt_tokens": tokens + 9,
            "completion_tokens": 3,
            "total_tokens": tokens + 12,
            "prompt_tokens_details": {"cached_tokens": tokens},
        },
    },
    chat_messages,
    st.integers(0, 9),
    st.lists(st.builds(lambda token: {"token": token, "logprob": -1.0, "bytes": [1], "top_logprobs": []}, words)),
)


def chat_events(rnd, response):
    (choice,) = response["choices"]
    message = choice["message"]
    queues = [
        [{"delta": {name: piece}} for piece in pieces(rnd, message[name])]
        for name in ("content", "refusal", "reasoning_content")
        if name in message
    ]
    if "audio" in message:
        said = [{"transcript": piece} for piece in pieces(rnd, message["audio"]["transcript"])]
        queues.append([{"delta": {"audio": piece}} for piece in ({"id": "audio_1"}, *said)])
    queues.append([{"delta": {"annotations": [each]}} for each in message.get("annotations", [])])
    for index, call in enumerate(message.get("tool_calls", [])):
        written = "input" if call["type"] == "custom" else "arguments"
        body = call[call["type"]]
        first = {**call, call["type"]: {"name": body["name"], written: ""}, "index": index}
        more = [{"index": index, call["type"]: {written: piece}} for piece in pieces(rnd, body[written])]
        queues.append([{"delta": {"tool_calls": [piece]}} for piece in (first, *more)])
    logprobs = choice.get("logprobs", {}).get("content", [])
    queues.append([{"delta": {}, "logprobs": {"content": [each]}} for each in logprobs])

    base = {name: response[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    usage = {"usage": None} if rnd.random() < 0.5 else {}
    choices = [{"delta": {"role": "assistant"}}, *interleaved(rnd, queues)]
    for each in (*choices, {"delta": {}, "finish_reason": choice["finish_reason"]}):
        padding = {"obfuscation": "x" * rnd.randrange(3)}
        yield {**base, **usage, **padding, "choices": [{"index": 0, "finish_reason": None, **each}]}
    yield {**base, "choices": [], "usage": response["usage"]}


# -- OpenAI, responses


def text_part(text, is_refusal):
    if is_refusal:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [{"type": "file_path", "file_id": "f", "index": 0}]}


response_items = lists_of(
    st.builds(
        lambda parts: (
            lambda n: {
                "type": "message",
                "id": f"msg_{n}",
                "role": "assistant",
                "status": "completed",
                "content": parts,
            }
        ),
        st.lists(st.builds(text_part, words, st.booleans()), min_size=1, max_size=2),
    ),
    st.builds(
        lambda texts, hidden: (
            lambda n: {
                "type": "reasoning",
                "id": f"rs_{n}",
                "summary": [{"type": "summary_text", "text": text} for text in texts],
                "encrypted_content": hidden,
            }
        ),
        st.lists(words, max_size=2),
        signatures,
    ),
    st.builds(
        lambda name, arguments, is_custom: (
            lambda n: {
                "type": "custom_tool_call" if is_custom else "function_call",
                "id": f"fc_{n}",
                "call_id": f"call_{n}",
                "name": name,
                "input" if is_custom else "arguments": json.dumps(arguments),
                "status": "completed",
            }
        ),
        names,
        arguments,
        st.booleans(),
    ),
    st.builds(
        lambda query: (
            lambda n: {
                "type": "web_search_call",
                "id": f"ws_{n}",
                "status": "completed",
                "action": {"type": "search", "query": query},
            }
        ),
        words,
    ),
    max_size=4,
)
response_responses = st.builds(
    lambda items, tokens: {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": items,
        "usage": {
            "input_tokens": 9 + tokens,
            "input_tokens_details": {"cached_tokens": tokens, "cache_write_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 12 + tokens,
        },
    },
    response_items,
    st.integers(0, 9),
)


EMPTY = {  # an item when it is announced
    "message": {"content": []},
    "reasoning": {"summary": [], "encrypted_content": "not the last word"},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "web_search_call": {},
}


def item_events(rnd, index, item):
    at = {"output_index": index, "item_id": item["id"]}
    empty = {**item, "status": "in_progress", **EMPTY[item["type"]]}
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    for place, part in enumerate(item.get("content", [])):
        yield from part_events(rnd, {**at, "content_index": place}, part)
    for place, part in enumerate(item.get("summary", [])):
        yield from summary_events(rnd, {**at, "summary_index": place}, part)
    for field, name in (("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")):
        if field in item:
            for piece in pieces(rnd, item[field]):
                yield {"type": f"response.{name}.delta", **at, "delta": piece}
            more = {"name": item["name"]} if field == "arguments" else {}
            yield {"type": f"response.{name}.done", **at, **more, field: item[field]}
    if item["type"] == "web_search_call":
        yield {"type": "response.web_search_call.searching", **at}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def part_events(rnd, at, part):
    field, name = ("refusal", "refusal") if part["type"] == "refusal" else ("text", "output_text")
    more = {"logprobs": []} if field == "text" else {}
    opened = {**part, field: ""} | ({"annotations": []} if "annotations" in part else {})
    yield {"type": "response.content_part.added", **at, "part": opened}
    for piece in pieces(rnd, part[field]):
        yield {"type": f"response.{name}.delta", **at, **more, "delta": piece}
    for number, each in enumerate(part.get("annotations", [])):
        named = {"annotation_index": number, "annotation": each}
        yield {"type": "response.output_text.annotation.added", **at, **named}
    yield {"type": f"response.{name}.done", **at, **more, field: part[field]}
    yield {"type": "response.content_part.done", **at, "part": part}


def summary_events(rnd, at, part):
    yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
    for piece in pieces(rnd, part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **at, "part": part}


def response_events(rnd, response):
    opened = {**response, "status": "in_progress", "output": [], "usage": None}
    items = interleaved(rnd, [list(item_events(rnd, n, item)) for n, item in enumerate(response["output"])])
    events = [
        {"type": "response.created", "response": opened},
        {"type": "response.in_progress", "response": opened},
        *items,
        {"type": "response.completed", "response": response},
    ]
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


# -- Anthropic

CITATION = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "document_title": "d",
    "start_char_index": 0,
    "end_char_index": 1,
}
anthropic_blocks = lists_of(
    st.builds(
        lambda text, count: (
            lambda n: {
                "type": "text",
                "text": text,
                **({"citations": [CITATION] * count} if count else {}),
            }
        ),
        words,
        st.integers(0, 2),
    ),
    st.builds(
        lambda text, sign: lambda n: {"type": "thinking", "thinking": text, "signature": sign}, words, signatures
    ),
    st.builds(lambda data: lambda n: {"type": "redacted_thinking", "data": data}, signatures),
    st.builds(
        lambda name, given: lambda n: {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given},
        names,
        arguments,
    ),
    st.builds(
        lambda query: (
            lambda n: {
                "type": "server_tool_use",
                "id": f"srvtoolu_{n}",
                "name": "web_search",
                "input": {"query": query},
            }
        ),
        words,
    ),
    st.just(lambda n: {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{n - 1}", "content": []}),
    max_size=4,
)
anthropic_responses = st.builds(
    lambda blocks, tokens: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": blocks,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 9,
            "cache_read_input_tokens": tokens,
            "cache_creation_input_tokens": 2,
            "output_tokens": 5 + tokens,
        },
    },
    anthropic_blocks,
    st.integers(0, 9),
)


def block_events(rnd, index, block):
    empty, deltas = dict(block), []
    match block["type"]:
        case "text":
            empty["text"] = ""
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(rnd, block["text"])]
            deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations", [])]
            if "citations" in block:
                empty["citations"] = []
        case "thinking":
            empty |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(rnd, block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use" | "server_tool_use":
            empty["input"] = {}
            text = json.dumps(block["input"]) if block["input"] or rnd.random() < 0.5 else ""
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(rnd, text)]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        if rnd.random() < 0.1:
            yield {"type": "ping"}
    yield {"type": "content_block_stop", "index": index}


def anthropic_events(rnd, response):
    usage = {**response["usage"], "output_tokens": 1}
    opened = {**response, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": opened}
    for index, block in enumerate(response["content"]):
        yield from block_events(rnd, index, block)
    ended = {"stop_reason": response["stop_reason"], "stop_sequence": None}
    counted = {"output_tokens": response["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": ended, "usage": counted}
    yield {"type": "message_stop"}


# -- Gemini


def gemini_call(name, given, sign, has_id):
    signature = {"thoughtSignature": "c2lnLTE="} if sign else {}
    return lambda n: {
        "functionCall": {"name": name, "args": given, **({"id": f"c{n}"} if has_id else {})},
        **signature,
    }


gemini_parts = lists_of(
    st.builds(lambda text: lambda n: {"text": text}, words),
    st.builds(lambda text: lambda n: {"text": text, "thought": True}, words),
    st.builds(lambda text: lambda n: {"text": text, "thoughtSignature": "c2lnLTI="}, words),
    st.builds(gemini_call, names, arguments, st.booleans(), st.booleans()),
    st.builds(lambda code: lambda n: {"executableCode": {"language": "PYTHON", "code": code}}, words),
    max_size=4,
).filter(lambda parts: all(not goes_on(*pair) for pair in pairwise(parts)))


def goes_on(part, after):
    """Whether a stream could not tell two parts apart."""
    return is_plain(part) and is_plain(after) and part.keys() == after.keys()


def is_plain(part):
    return part.keys() <= {"text", "thought"}


gemini_responses = st.builds(
    lambda parts, tokens: {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "modelVersion": "gemini-3-flash",
        "responseId": "r1",
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 3 + tokens,
            "thoughtsTokenCount": tokens,
            "totalTokenCount": 12 + 2 * tokens,
        },
    },
    gemini_parts,
    st.integers(0, 9),
)


def gemini_events(rnd, response):
    (candidate,) = response["candidates"]
    shown = []
    for part in candidate["content"]["parts"]:
        shown += [{**part, "text": piece} for piece in pieces(rnd, part["text"])] if is_plain(part) else [part]
    while shown:
        count = rnd.randrange(1, 3)
        batch, shown = shown[:count], shown[count:]
        usage = {**response["usageMetadata"], "candidatesTokenCount": 1, "totalTokenCount": 10}
        content = {"content": {"role": "model", "parts": batch}, "index": 0}
        yield {**response, "candidates": [content], "usageMetadata": usage}
    yield {**copy.deepcopy(response), "candidates": [{**candidate, "content": {"role": "model", "parts": []}}]}
