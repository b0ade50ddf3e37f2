"""An agent of LangChain whose model sees a context of 6,000 tokens, however long it works. The model here is scripted.

With PAGETURN_MODEL, the name of a model, it is a real one: OpenAI's, or that of OPENAI_BASE_URL.
"""

import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import pageturn as pt
from pageturn.adapters.langchain import PageturnMiddleware

FILES = [f"src/module_{number}.py" for number in range(12)]


@tool
def read(path: str) -> str:
    """Read a file."""
    lines = [f"def part_{number}(): return {number * 37 % 101}  # {path}" for number in range(60)]
    return "\n".join([*lines, f"PORT = {8000 + FILES.index(path)}" if path in FILES else "no such file"])


class ScriptedModel(BaseChatModel):
    """Reads all files, asks for one of them again, and answers."""

    turn: int = 0
    largest: int = 0  # characters of a request

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.largest = max(self.largest, sum(len(message.text) for message in messages))
        if self.turn < len(FILES):
            reply = _call("read", {"path": FILES[self.turn]}, self.turn)
        elif self.turn == len(FILES):
            reply = _call("recall", {"query": "PORT of src/module_2.py"}, self.turn)
        else:
            reply = AIMessage("Found it." if "PORT = 8002" in messages[-1].text else "I do not know.")
        self.turn += 1
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _call(name: str, args: dict[str, Any], number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call_{number}"}])


def chat_model() -> BaseChatModel:
    """The scripted model, or a real one if the environment names an endpoint."""
    if not os.environ.get("PAGETURN_MODEL"):
        return ScriptedModel()
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 (only for a real model)

    return ChatOpenAI(model=os.environ["PAGETURN_MODEL"])


def main(model: BaseChatModel) -> str:
    """Ask one question about many files; returns the answer."""
    pages = PageturnMiddleware(policy=pt.Paged(budget_tokens=6_000), rules=["Never change a file."])
    agent: Any = create_agent(model, [read], middleware=[pages], checkpointer=InMemorySaver())
    question = f"Read {', '.join(FILES)}, one after the other. Which port does the third one use?"
    state = agent.invoke(
        {"messages": [{"role": "user", "content": question}]},
        {"configurable": {"thread_id": "ports"}, "recursion_limit": 100},
    )
    pages.close()
    return str(state["messages"][-1].text)


if __name__ == "__main__":
    print(main(chat_model()))
