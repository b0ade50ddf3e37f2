"""A middleware for agents of LangChain, LangGraph and deepagents: the model sees what is derived from a session (docs/langchain.md).

It takes the place of SummarizationMiddleware and ContextEditingMiddleware. The history in the agent's state stays whole; only the
request to the model is shorter.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from pageturn.adapters.branches import Branches, History
from pageturn.policies import DerivePolicy
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.values.errors import MissingExtra
from pageturn.values.messages import ToolResult
from pageturn.values.recall_tool import RecallTool

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.tools import ToolRuntime
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
    from langchain_core.runnables.config import ensure_config
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("the LangChain middleware", extra="langchain") from error

from pageturn.adapters.langchain_messages import Originals, dump, load, usage_of


class _Call(NamedTuple):
    """A call of the model: the history that it is about, and the request in its short form."""

    history: History
    originals: Originals
    given: ModelRequest[Any]
    derived: ModelRequest[Any]


class PageturnMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives the model a context within a budget, and a tool to get back what is not shown in it.

    Each thread of the checkpointer has a session in the store at `url`, and after time travel a fork of it. Put it last in the list of
    middleware, so that it sees what the others add.
    """

    def __init__(
        self,
        url: str | os.PathLike[str] | Store = ":memory:",
        *,
        policy: DerivePolicy | None = None,
        recall: RecallTool | None = RecallTool(),  # noqa: B008
        scope: str | None = None,
        rules: Sequence[str] = (),
    ) -> None:
        """`rules` are pinned in every session: they are in every request, word for word.

        With `recall=None` the model gets no tool, and what is no longer shown is named nowhere.
        """
        super().__init__()
        self._branches = Branches(url, policy=policy, recall=recall, scope=scope, rules=rules)
        self.tools: Sequence[BaseTool] = [self._native(recall)] if recall is not None else []

    def close(self) -> None:
        """Close the sessions. What was said is in the store already."""
        self._branches.close()

    # -- the model's calls

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the derived context; once more with a smaller one if the prompt was too long."""
        call = self._begin(request)
        try:
            response = handler(call.derived)
        except Exception as error:
            shorter = self._shorter(call, error)
            if shorter is None:
                raise
            response = handler(shorter)
        return self._finish(call, response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same for an agent that runs in an event loop, which never waits for the store."""
        call = await asyncio.to_thread(self._begin, request)
        try:
            response = await handler(call.derived)
        except Exception as error:
            shorter = await asyncio.to_thread(self._shorter, call, error)
            if shorter is None:
                raise
            response = await handler(shorter)
        return await asyncio.to_thread(self._finish, call, response)

    def _begin(self, request: ModelRequest[Any]) -> _Call:
        originals = Originals(request.messages)
        system = str(request.system_message.text) if request.system_message is not None else ""
        history = History(
            _thread(ensure_config(), request.messages), originals.said, system or None, _model_name(request.model)
        )
        derived = self._branches.follow(history, lambda session: self._derived(session, history, originals, request))
        return _Call(history, originals, request, derived)

    def _derived(
        self, session: Session, history: History, originals: Originals, request: ModelRequest[Any]
    ) -> ModelRequest[Any]:
        """The request with the messages of a context; its tools are the host's, and ours among them."""
        own = [convert_to_openai_tool(tool) for tool in request.tools if all(tool is not ours for ours in self.tools)]
        context = session.derive(own, model=history.model)
        dumped = dump(context.messages, originals, request.system_message)
        return request.override(system_message=dumped.system, messages=dumped.messages)

    def _shorter(self, call: _Call, error: Exception) -> ModelRequest[Any] | None:
        """The request again within what the provider takes; None if the error is about something else."""

        def tighter(session: Session) -> ModelRequest[Any] | None:
            if not session.overflow(error):
                return None
            return self._derived(session, call.history, call.originals, call.given)

        return self._branches.follow(call.history, tighter)

    def _finish(self, call: _Call, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Append the answer. If the thread went on elsewhere meanwhile, that is another branch."""
        result = [_named(message) for message in response.result]
        for reply in result:
            if isinstance(reply, AIMessage):
                message, usage = load(reply).message, usage_of(reply)
                self._branches.follow(call.history, lambda session: session.append(message, usage))  # noqa: B023
                break
        return ModelResponse(result=result, structured_response=response.structured_response)

    # -- the recall tool

    def _native(self, recall: RecallTool) -> BaseTool:
        """The recall tool as LangChain has tools."""

        def run(runtime: ToolRuntime[Any, Any], **_asked: object) -> ToolMessage:
            return self._answer(recall, runtime)

        async def arun(runtime: ToolRuntime[Any, Any], **_asked: object) -> ToolMessage:
            return await asyncio.to_thread(self._answer, recall, runtime)

        return StructuredTool.from_function(
            run, arun, name=recall.name, description=recall.description, args_schema=recall.parameters
        )

    def _answer(self, recall: RecallTool, runtime: ToolRuntime[Any, Any]) -> ToolMessage:
        """The session's answer to a call. It answers all calls of a message at once, whichever comes first."""
        messages = runtime.state["messages"]
        call = runtime.tool_call_id or ""
        history = History(_thread(runtime.config, messages), Originals(messages).said)

        def answered(session: Session) -> ToolResult | None:
            session.answer()
            pages = [page for page in session.reader.pages() if any(result.call == call for result in page.results)]
            message = session.reader.message(pages[-1]) if pages else None
            return message.tool_results[0] if message is not None else None

        result = self._branches.follow(history, answered)
        if result is None:
            return ToolMessage("this call is not in the session", tool_call_id=call, name=recall.name, status="error")
        status = "error" if result.is_error else "success"
        return ToolMessage(str(result.content), tool_call_id=call, name=recall.name, status=status)


def _thread(config: Mapping[str, Any], messages: Sequence[BaseMessage]) -> str:
    """The name of the history: its thread; in a subgraph with the graph's place and its first message, since each task is a history of
    its own; without a checkpointer only the first message.
    """
    given = config.get("configurable") or {}
    above = str(given.get("checkpoint_ns") or "").split("|")[:-1]
    place = [part.partition(":")[0] for part in above]  # behind the colon is the id of one step
    first = (messages[0].id or "") if messages else ""
    thread = given.get("thread_id")
    if thread is None:
        return "/".join([*place, first or "no-thread"])
    return "/".join([str(thread), *place, *([first] if place else [])])


def _model_name(model: object) -> str | None:
    """The name that the provider has for a model, by which tokens are counted."""
    names = (getattr(model, "model_name", None), getattr(model, "model", None))
    return next((name.removeprefix("models/") for name in names if isinstance(name, str) and name), None)


def _named(message: BaseMessage) -> BaseMessage:
    """A message with an id, by which it is known when it comes back."""
    return message if message.id is not None else message.model_copy(update={"id": str(uuid4())})
