"""Agents of LangChain on scripted models, and what is checked of each of their requests."""

from collections.abc import Callable
from threading import Lock
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field, PrivateAttr

MODEL = "gpt-5"


class ScriptedModel(BaseChatModel):
    """Answers by a function of the request, and keeps every request with the tools that were offered."""

    reply: Callable[[list[Any]], AIMessage]
    model_name: str = MODEL
    requests: list[list[Any]] = Field(default_factory=list)
    offered: list[list[Any]] = Field(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_):
        self.offered.append(list(tools))
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        with self._lock:
            self.requests.append(list(messages))
        reply = self.reply(messages)
        if isinstance(reply, Exception):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy(deep=True))])


def calls(*named, text=""):
    """An answer that calls tools: pairs of a name and the arguments; the ids are made of them."""
    made = [{"name": name, "args": args, "id": f"call_{name}_{abs(hash(str(args))) % 10**8}"} for name, args in named]
    return AIMessage(content=text, tool_calls=made)


def from_list(replies):
    """A model's script: one answer after another."""
    left = iter(replies)
    return lambda _messages: next(left)


@tool
def bash(command: str) -> str:
    """Run a command."""
    return output(command)


def output(command: str, lines: int = 100) -> str:
    return "\n".join([f"$ {command}", *(f"{command} line {n}: value {n * 7919 % 1000}" for n in range(lines))])


def work(turns: int, prefix: str = "make step") -> list[AIMessage]:
    """An agent that runs a command in each turn, and then says that it is done."""
    return [*(calls(("bash", {"command": f"{prefix}{n}"})) for n in range(turns)), AIMessage("done")]


def agent_of(replies, middleware, *, tools=(bash,), saver=None, system="You are a coding agent."):
    model = ScriptedModel(reply=replies if callable(replies) else from_list(replies))
    saver = saver if saver is not None else InMemorySaver()
    built = create_agent(model, list(tools), system_prompt=system, middleware=list(middleware), checkpointer=saver)
    return built, model


def thread(name="t", **more):
    return {"configurable": {"thread_id": name, **more}, "recursion_limit": 1_000}


def results(messages, name):
    return [message for message in messages if isinstance(message, ToolMessage) and message.name == name]
