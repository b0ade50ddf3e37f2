"""An agent of LangChain that replays generated coding sessions, with each middleware that manages its context.

    .venv-langchain/bin/python -m benchmarks.adapters.langchain [SESSIONS]        (make test-adapters makes the environment)

The model repeats the recorded answers, and the tools the recorded results, so every middleware has the same work. What the model would
be sent is taken from `langchain-openai`, billed and judged by the lab, and read by the strict readers of the tests. Summaries are
written by the stand-in of `benchmarks.peers`; their calls are billed.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

import pageturn as pt
from benchmarks.peers.relay import summary
from pageturn.adapters.langchain import PageturnMiddleware
from pageturn.formats import openai_chat
from pageturn.lab.replay import Recording
from pageturn.lab.results import Score
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace
from pageturn.tokens.counters import counter_for
from pageturn.values.messages import Message, Role, user
from pageturn.values.vendors import IDEAL_CACHE
from tests.strict import anthropic as strict_anthropic
from tests.strict import openai_chat as strict_openai

MODEL = "gpt-5"
BUDGETS = (16_000, 32_000)
TURNS = 120
RULE = "Whatever you do, never touch anything below migrations/."
COUNTER = counter_for(MODEL)


class Recorded(BaseChatModel):
    """Gives the recorded answers, one after the other, and keeps the requests."""

    answers: list[AIMessage]
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    model_name: str = MODEL

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def bind_tools(self, _tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.requests.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.answers[len(self.requests) - 1])])


class Summarizer(BaseChatModel):
    """Writes summaries, and counts what that costs."""

    read: int = 0
    written: int = 0

    @property
    def _llm_type(self) -> str:
        return "summarizer"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        given = "\n".join(message.text for message in messages)
        told = summary(given)
        self.read += COUNTER.text(given)
        self.written += COUNTER.text(told)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(told))])

    @property
    def billed(self) -> float:
        """The bill of its calls, in tokens of fresh input."""
        return self.read * IDEAL_CACHE.prices.write + self.written * IDEAL_CACHE.output


class Figures(NamedTuple):
    """What one middleware did in one session."""

    score: Score
    summaries: float
    has_rule: int
    rejected: int
    seconds: float


def main(sessions: int) -> None:
    traces = [_with_rule(coding_session(seed, TURNS)) for seed in range(1, sessions + 1)]
    print(f"{sessions} generated sessions of about {TURNS} turns, {sum(trace.tokens for trace in traces):,} tokens\n")
    print(
        "| budget | middleware | priced bill | coverage | turns that miss | rule kept | rejected | largest | ms a turn |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for budget in BUDGETS:
        for name, make in METHODS.items():
            print(_row(budget, name, [_run(trace, make, budget) for trace in traces]), flush=True)


def _row(budget: int, name: str, figures: Sequence[Figures]) -> str:
    score = sum((each.score for each in figures), Score())
    turns = score.turns
    bill = (score.billed + score.fetching + sum(each.summaries for each in figures)) / score.whole
    cells = [
        f"{budget:,}",
        name,
        f"{bill:.2f}x",
        f"{score.covered / score.demanded:.3f}",
        f"{score.missing}",
        f"{sum(each.has_rule for each in figures)} of {turns}",
        f"{sum(each.rejected for each in figures)}",
        f"{score.largest:,}",
        f"{sum(each.seconds for each in figures) / turns * 1_000:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _with_rule(trace: Trace) -> Trace:
    """The session, where the person states a rule in the first message."""
    at = next(at for at, message in enumerate(trace.messages) if message.role is Role.USER)
    said = user(f"{RULE} {trace.messages[at].text}")
    return trace._replace(messages=(*trace.messages[:at], said, *trace.messages[at + 1 :]))


def _nothing(_budget: int, _summarizer: Summarizer) -> list[AgentMiddleware]:
    return []


def _summarization(budget: int, summarizer: Summarizer) -> list[AgentMiddleware]:
    return [SummarizationMiddleware(summarizer, trigger=("tokens", budget))]


def _editing(budget: int, _summarizer: Summarizer) -> list[AgentMiddleware]:
    return [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=budget)])]


def _pageturn(budget: int, _summarizer: Summarizer) -> list[AgentMiddleware]:
    return [PageturnMiddleware(policy=pt.Paged(budget_tokens=budget))]


METHODS: dict[str, Callable[[int, Summarizer], list[AgentMiddleware]]] = {
    "none": _nothing,
    "SummarizationMiddleware": _summarization,
    "ContextEditingMiddleware": _editing,
    "PageturnMiddleware": _pageturn,
}


def _run(trace: Trace, make: Callable[[int, Summarizer], list[AgentMiddleware]], budget: int) -> Figures:
    summarizer = Summarizer()
    model = Recorded(answers=[_answer(message) for message in trace.messages if message.role is Role.ASSISTANT])
    saver = InMemorySaver()
    system = trace.messages[0].text
    agent: Any = create_agent(
        model, [*_tools(trace)], system_prompt=system, middleware=make(budget, summarizer), checkpointer=saver
    )
    began = time.process_time()
    for message in trace.messages:
        if message.role is Role.USER:
            agent.invoke(
                {"messages": [{"role": "user", "content": message.text}]},
                {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000},
            )
    seconds = time.process_time() - began
    payloads = [ChatOpenAI(model=MODEL, api_key="-")._get_request_payload(each) for each in model.requests]  # noqa: SLF001
    recording = Recording(trace, tokens=COUNTER.message)
    return Figures(
        recording.score(lambda _trace: [openai_chat.load_messages(each["messages"]) for each in payloads]),
        summarizer.billed,
        sum(RULE in json.dumps(each) for each in payloads),
        sum(_is_rejected(payload, request) for payload, request in zip(payloads, model.requests, strict=True)),
        seconds,
    )


def _is_rejected(payload: dict[str, Any], request: list[BaseMessage]) -> bool:
    """Whether one of two vendors would refuse the request."""
    model = "claude-sonnet-4-5"
    theirs = ChatAnthropic(model_name=model, api_key="-")._get_request_payload(request)  # noqa: SLF001
    body = {name: theirs[name] for name in ("model", "max_tokens", "system", "messages") if name in theirs}
    return bool(strict_openai.problems(payload) or strict_anthropic.problems(body, model=model))


def _answer(message: Message) -> AIMessage:
    calls = [{"name": call.name, "args": call.parsed, "id": call.id} for call in message.tool_calls]
    return AIMessage(message.text, tool_calls=calls)


def _tools(trace: Trace) -> Iterator[BaseTool]:
    """The tools that the session calls, which give the recorded results."""
    recorded = {result.tool_call_id: result.content for message in trace.messages for result in message.tool_results}

    def run(runtime: ToolRuntime[Any, Any], **_asked: object) -> str:
        return str(recorded[runtime.tool_call_id or ""])

    for name in sorted({call.name for message in trace.messages for call in message.tool_calls}):
        yield StructuredTool.from_function(
            run, name=name, description=f"{name} of the repository.", args_schema={"type": "object", "properties": {}}
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
