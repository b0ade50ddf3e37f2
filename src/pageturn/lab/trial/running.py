"""Runs every task under every method in random order, and stores each run, until all are done or the budget is spent.

The order is drawn from a seed, so that no method is always first. The model is never told which method it is under, and neither is a
checker. Running the same trial with the same file again continues where it stopped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from pageturn.lab.billing import Sent, blocks_of, cached
from pageturn.lab.traces import estimated_tokens
from pageturn.lab.trial.contract import Task, Workplace
from pageturn.lab.trial.endpoint import EndpointFailed, Model
from pageturn.lab.trial.managing import METHODS, Managed
from pageturn.lab.trial.results import Run, RunKey, StepDone, append_run, read_runs
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.json import to_json
from pageturn.values.messages import Message, ToolCall, assistant, tool_result, user
from pageturn.values.model_prices import ModelPrice
from pageturn.values.prompt import Prompt
from pageturn.values.recall_tool import RecallTool
from pageturn.values.usage import Usage

_MOST_FAILURES = 3  # of the endpoint, in a row
_ANSWER_TOKENS = 200  # that a call writes, about, for an estimate of the price


class Plan(NamedTuple):
    """What a trial does."""

    tasks: Sequence[Task]
    methods: Sequence[str]
    model: str
    price: ModelPrice
    budget_tokens: int = 16_000
    repetitions: int = 1
    seed: int = 1
    limit_dollars: float = 5.0
    most_calls: int = 25  # of the model, in one step

    def runs(self) -> list[tuple[Task, RunKey]]:
        """All runs, in their order."""
        made = [
            (task, RunKey(task.id, method, repetition, self.model, self.budget_tokens))
            for task in self.tasks
            for method in self.methods
            for repetition in range(1, self.repetitions + 1)
        ]
        Random(f"trial:{self.seed}").shuffle(made)  # noqa: S311  # a lab, not a lock
        return made


class Ended(NamedTuple):
    """How a trial ended."""

    runs: tuple[Run, ...]
    left: int  # runs that were not made
    reason: str  # why some are missing


class _OutOfMoney(Exception):
    pass


def run_trial(plan: Plan, model: Model, out: Path, on_run: Callable[[Run], None] = lambda _: None) -> Ended:
    """Run what is not in the file yet."""
    runs = list(read_runs(out))
    final = {run.key for run in runs if run.final}
    reason = ""
    failures = 0
    for task, key in plan.runs():
        if key in final:
            continue
        left = plan.limit_dollars - sum(run.dollars for run in runs)
        run = _Running(plan, model, task, key, left).run() if left > 0 else None
        if run is not None:
            append_run(out, run)
            runs.append(run)
            on_run(run)
            final |= {run.key} if run.final else set()
            failures = 0 if run.final else failures + 1
        if run is None or run.error == _LIMIT:
            reason = f"the limit of ${plan.limit_dollars:g} is reached"
            break
        if failures:
            reason = f"the endpoint fails: {run.error}"
        if failures == _MOST_FAILURES:
            break
    remaining = sum(key not in final for _, key in plan.runs())
    return Ended(tuple(runs), remaining, reason if remaining else "")


_LIMIT = "the money is spent"


class _Running:
    """One task under one method."""

    def __init__(self, plan: Plan, model: Model, task: Task, key: RunKey, left_dollars: float) -> None:
        self._plan = plan
        self._model = model
        self._task = task
        self._key = key
        self._left = left_dollars
        self._steps: list[StepDone] = []
        self._calls = 0  # in this step
        self._spent = 0.0
        self._tokens = [0, 0, 0, 0]
        self._estimated = False
        self._managed: Managed = METHODS[key.method](plan.budget_tokens)

    def run(self) -> Run:
        """Run all steps, or as many as possible."""
        try:
            replay_history(self._managed, self._task)
            with self._task.opened() as place:
                for number, step in enumerate(self._task.steps):
                    self._managed.append(user(step.text))
                    done = self._step(place, number)
                    self._steps.append(StepDone(step.name, done, self._calls))
                    self._calls = 0
        except _OutOfMoney:
            return self._made(error=_LIMIT, final=False)
        except EndpointFailed as error:
            return self._made(error=str(error), final=False)
        except BudgetTooSmall as error:  # another run would end in the same way: what was not done is not done
            rest = self._task.steps[len(self._steps) :]
            self._steps += [StepDone(step.name, done=False, calls=0) for step in rest]
            return self._made(error=str(error), final=True)
        return self._made(error=None, final=True)

    def _step(self, place: Workplace, number: int) -> bool:
        calls: list[ToolCall] = []
        answer = ""
        for _ in range(self._plan.most_calls):
            reply = self._ask()
            answer = reply.text
            self._managed.append(reply)
            answered = self._managed.answer()
            own = [call for call in reply.tool_calls if not (answered and call.name == RecallTool().name)]
            calls += own
            for call in own:
                self._managed.append(tool_result(call, place.run(call) or "(nothing)"))
            if not (own or answered):
                break
        return place.check(number, answer, calls)

    def _ask(self) -> Message:
        if self._spent >= self._left:
            raise _OutOfMoney
        prompt = self._managed.prompt(self._task.tools)
        reply = self._model.ask(prompt)
        self._calls += 1
        usage = reply.usage
        if usage is None or not usage.input_tokens:
            self._estimated = True
            usage = Usage(
                input_tokens=sum(map(estimated_tokens, prompt.messages)), output_tokens=estimated_tokens(reply)
            )
        counts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
        self._tokens = [sum(pair) for pair in zip(self._tokens, counts, strict=True)]
        self._spent += self._plan.price.dollars(usage)
        return reply

    def _made(self, *, error: str | None, final: bool) -> Run:
        task, method, repetition, model, budget = self._key
        return Run(
            task,
            self._task.family,
            method,
            repetition,
            model,
            budget,
            tuple(self._steps),
            input_tokens=self._tokens[0],
            cache_read_tokens=self._tokens[1],
            cache_write_tokens=self._tokens[2],
            output_tokens=self._tokens[3],
            dollars=round(self._spent, 8),
            recalls=self._managed.recalls,
            estimated=self._estimated,
            error=error,
            final=final,
        )


def replay_history(managed: Managed, task: Task) -> None:
    """Append the history of a task; a context is derived before each reply of the model, as it would have been live."""
    for message in task.history():
        if message.role == "assistant":
            managed.prompt(task.tools)
        managed.append(message)


class Priced(NamedTuple):
    """The estimated cost of a method."""

    method: str
    calls: float
    tokens: float  # of input
    dollars: float


def priced(plan: Plan, known: Iterable[RunKey] = ()) -> Iterator[Priced]:
    """The estimated cost of each method, without known runs: each step takes as many calls as its task says, with short answers."""
    done = set(known)
    for method in plan.methods:
        calls = tokens = dollars = 0.0
        for task, key in plan.runs():
            if key.method != method or key in done:
                continue
            for request in _rehearsed(plan, task, method):
                calls += task.calls_a_step
                tokens += task.calls_a_step * request.input_tokens
                again = Usage(
                    input_tokens=request.input_tokens,
                    cache_read_tokens=request.input_tokens,
                    output_tokens=_ANSWER_TOKENS,
                )
                dollars += plan.price.dollars(request) + (task.calls_a_step - 1) * plan.price.dollars(again)
        yield Priced(method, calls, tokens, dollars)


def _rehearsed(plan: Plan, task: Task, method: str) -> Iterator[Usage]:
    """The usage of the first call of each step, if a cache keeps everything that two requests have in common."""
    managed = METHODS[method](plan.budget_tokens)
    try:
        replay_history(managed, task)
        before: list[Sent] = []
        for step in task.steps:
            managed.append(user(step.text))
            request = _sent(managed.prompt(task.tools))
            whole, read = sum(sent.tokens for sent in request), cached(request, before)
            yield Usage(
                input_tokens=whole,
                cache_read_tokens=read,
                cache_write_tokens=whole - read,
                output_tokens=_ANSWER_TOKENS,
            )
            before = request
            managed.append(assistant("Done."))
    except BudgetTooSmall:
        return


def _sent(prompt: Prompt) -> list[Sent]:
    tools = to_json([tool.definition if isinstance(tool, RecallTool) else tool for tool in prompt.tools])
    return [
        Sent(tools, len(tools) // 4),
        *(
            Sent(to_json(block), tokens)
            for message in prompt.messages
            for block, tokens in blocks_of(message, estimated_tokens)
        ),
    ]
