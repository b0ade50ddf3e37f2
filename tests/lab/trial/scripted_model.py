"""A model that nobody trained, behind a real HTTP server: it answers from what stands in the request, and from nothing else."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BAY = r"parcel {} was (?:put into|moved to) bay (\d+)\."


def openai_text(body: dict[str, Any]) -> tuple[str, str, bool]:
    """All that a request says, what the user said last, and whether our recall was just answered."""
    texts = [str(message.get("content") or "") for message in body["messages"]]
    asked = max(at for at, message in enumerate(body["messages"]) if message["role"] == "user")
    return "\n".join(texts), texts[asked], body["messages"][-1]["role"] == "tool"


def anthropic_text(body: dict[str, Any]) -> tuple[str, str, bool]:
    def flat(content: Any) -> str:
        if isinstance(content, str):
            return content
        return "\n".join(str(block.get("text") or flat(block.get("content") or "")) for block in content)

    texts = [flat(message["content"]) for message in body["messages"]]
    last = body["messages"][-1]
    is_result = isinstance(last["content"], list) and last["content"][0].get("type") == "tool_result"
    said = [text for text, message in zip(texts, body["messages"], strict=True) if message["role"] == "user"]
    questions = [text for text in said if "?" in text]
    return "\n".join(texts), questions[-1], is_result


def clerk(text: str, asked: str, recalled: bool, has_recall: bool) -> str | dict[str, str]:
    """Says what the request says, or recalls once, or says that it was not said."""
    question = asked.split(" Answer on one line", maxsplit=1)[0].splitlines()[-1]
    before = text
    if found := re.search(r"parcel (P-\d+)\?", question):
        bays = re.findall(BAY.format(found[1]), before)
        answer = bays[-1] if bays else None
    elif found := re.search(r"first, (\S+) or (\S+)\?", question):
        ends = {hall: before.find(f"the inspection of hall {hall} ended.") for hall in found.groups()}
        answer = min(ends, key=ends.get) if min(ends.values()) >= 0 else None
    elif found := re.search(r"dock (\S+) broke\?", question):
        devices = re.findall(rf"the (\w+) of dock {found[1]} broke\.", before)
        answer = ", ".join(devices) or None
    else:
        answer = "Done."
    if answer is None and has_recall and not recalled:
        return {"query": question}
    return answer or "not said"


Answers = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


def openai_answers(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    said = clerk(*openai_text(body), "recall" in names)
    message: dict[str, Any] = {"role": "assistant", "content": said}
    if isinstance(said, dict):
        function = {"name": "recall", "arguments": json.dumps(said)}
        call = {"id": f"call_r{len(body['messages'])}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 10}
    return 200, {"model": body["model"], "choices": [{"message": message}], "usage": usage}


def anthropic_answers(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    names = [tool["name"] for tool in body.get("tools", [])]
    said = clerk(*anthropic_text(body), "recall" in names)
    block: dict[str, Any] = {"type": "text", "text": said}
    if isinstance(said, dict):
        block = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "name": "recall", "input": said}
    usage = {"input_tokens": 50, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 9}
    return 200, {
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": "end_turn",
        "usage": usage,
    }


@contextmanager
def served(answers: Answers) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of a server with these answers, and the requests that came, with their headers."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(
                {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
            )
            status, answer = answers(body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            if status == 429:
                self.send_header("retry-after", "0")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
