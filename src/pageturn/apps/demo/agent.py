"""The client of the demo: a coding agent with its history in OpenAI's chat format, all of which it sends with every request."""

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from pageturn.apps.demo.provider import PATH, tokens_of_tools
from pageturn.formats import openai_chat
from pageturn.lab.traces import estimated_tokens
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message

MODEL = "gpt-6-sol"
SESSION = "demo"
_SECONDS = 60  # for an answer
_HEADERS = {"content-type": "application/json", "x-pageturn-session": SESSION}
_PARAMETERS = {
    "read_file": ("path",),
    "grep": ("pattern", "path"),
    "edit_file": ("path", "old_string", "new_string"),
    "bash": ("command",),
    "fetch_url": ("url",),
}


def _tool(name: str, parameters: tuple[str, ...]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [_tool(name, parameters) for name, parameters in _PARAMETERS.items()]
TOOLS_TOKENS = tokens_of_tools(TOOLS)


class Agent:
    """What was said so far, and how to go on. It knows nothing of a gateway but its address."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.tokens = TOOLS_TOKENS  # of a request with all of it
        self._messages: list[dict[str, Any]] = []  # the same, as it is sent

    def hear(self, message: Message, written: dict[str, Any]) -> None:
        """Take a message into the history."""
        self.history.append(message)
        self.tokens += estimated_tokens(message)
        self._messages.append(written)

    def ask(self, url: str) -> str:
        """Ask for the next answer and take it into the history; returns the gateway's note about what it sent."""
        place = urlsplit(url)
        body = json.dumps({"model": MODEL, "tools": TOOLS, "messages": self._messages}).encode()
        connection = HTTPConnection(str(place.hostname), place.port, timeout=_SECONDS)
        try:
            connection.request("POST", PATH, body, _HEADERS)
            response = connection.getresponse()
            told = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise InvalidInput("demo", expected="an answer of the gateway", got=f"{response.status}: {told.decode()}")
        answer = json.loads(told)
        self.hear(openai_chat.load_reply(answer), answer["choices"][0]["message"])
        return response.getheader("x-pageturn") or ""
