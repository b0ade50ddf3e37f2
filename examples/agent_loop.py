"""A complete agent loop: derive, call, append, answer, until nothing is left to do. The client here is scripted."""

from typing import Any

import pageturn as pt
from pageturn.formats import openai_chat

MODEL = "gpt-5"
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Run a command.", "parameters": {}}}]


class ScriptedClient:
    """Answers like `OpenAI().chat.completions`, from a list."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def create(self, *, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        self.requests.append({"model": model, "messages": messages, "tools": tools})
        if len(self.requests) == 1:
            return _reply(bash='{"command": "pytest tests/test_login.py"}')
        if len(self.requests) == 2:  # the recall tool, which the session answers
            return _reply(recall='{"query": "Which commit broke login?"}')
        return _reply(text="The token's expiry is compared in the wrong unit.")


def run(call: pt.ToolCall) -> str:
    """What your own tools do."""
    return f"{call.name}: KeyError: 'exp' in src/auth/login.py since commit 4f2a91c\n1 failed"


def main(client: ScriptedClient) -> str:
    """Work until the model calls nothing; returns its last answer."""
    with pt.Session.open(":memory:", id="login-bug", model=MODEL, policy=pt.Paged(budget_tokens=24_000)) as session:
        session.append(pt.system("You are a coding agent."))
        session.pin("Never push to main.")
        session.append(pt.user("Login returns 500 since yesterday."))
        while True:
            context = session.derive(tools=TOOLS)
            reply = client.create(model=MODEL, **openai_chat.dump(context))  # messages and tools, with the recall tool
            message = openai_chat.load_reply(reply)
            session.append(message)  # acknowledges the context, learns from usage
            answered = session.answer()  # answers the model's calls of the recall tool
            calls = session.pending()  # your own; after a crash, these are the ones to run again
            for call in calls:
                session.append(pt.tool_result(call, run(call)))
            if not (answered or calls):
                return message.text


def _reply(text: str | None = None, **calls: str) -> dict[str, Any]:
    made = [
        {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in calls.items()
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    return {"choices": [{"message": message}], "usage": {"prompt_tokens": 120, "completion_tokens": 20}}


if __name__ == "__main__":
    print(main(ScriptedClient()))
