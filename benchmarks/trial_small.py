"""A trial with a real small model on CPU: facts among distractors, as a choice of answers, under five methods to keep a context small.

    make trial-small
    make trial-gemma

Such models call tools badly, so each question comes with its possible answers, of which a grammar admits one, and recall is driven by
the harness: the question is the query, and what it finds stands before the question. All questions about one history are asked from the same
context, so the server reads it once. Answers are appended to a file; a run that was stopped goes on.
"""

import json
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from rich.console import Console
from rich.table import Table

import pageturn as pt
from pageturn.lab.traces import text_of
from pageturn.lab.trial.analysis import Paired, Share
from pageturn.lab.trial.facts import FactsTask, Question, facts_task
from pageturn.lab.trial.managing import METHODS, Derived


class Answered(NamedTuple):
    """One question that the model was asked under one method."""

    task: str
    arm: str
    step: int
    kind: str
    is_right: bool
    in_view: bool  # every line that one has to have seen was in the request, word for word
    tokens: int
    cached: int
    seconds: float


ARMS = ("everything", "trim", "masking", "paged-without-recall", "paged")
RECALLED = 2  # hits, of which each gives so many characters
RECALLED_CHARS = 300


def main() -> None:
    parser = ArgumentParser(description="A trial with a small model on CPU.")
    parser.add_argument("python", type=Path, help="The interpreter that has xllamacpp and the weights.")
    parser.add_argument("--model", default="smollm2", choices=("smollm2", "gemma3"))
    parser.add_argument("--histories", type=int, default=5)
    parser.add_argument("--questions", type=int, default=40, help="Of each history.")
    parser.add_argument("--tokens", type=int, default=3_000, help="Of a history, in characters / 4.")
    parser.add_argument("--budget", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("trial-small.jsonl"))
    parser.add_argument("--show", action="store_true", help="Only show what is in the file.")
    options = parser.parse_args()
    console = Console(width=160)
    if options.show:
        show_answers(console, list(rows(options.out)))
        return
    known = {(row.task, row.arm, row.step) for row in rows(options.out)}
    server = subprocess.Popen(
        [options.python, Path(__file__).with_name("small_model_server.py"), options.model, str(options.threads)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = next(line.strip() for line in server.stdout if line.startswith("http"))
        client = httpx2.Client(base_url=address, timeout=1_800.0, trust_env=False)
        for seed in range(1, options.histories + 1):
            task = facts_task(seed, tokens=options.tokens, questions=options.questions)
            for arm in ARMS:
                for answered in asked(client, task, arm, options.budget, known):
                    with options.out.open("a") as file:
                        file.write(json.dumps(answered._asdict()) + "\n")
                console.print(f"{task.id}, {arm}: done", highlight=False)
    finally:
        server.kill()
    show_answers(console, list(rows(options.out)))


def show_answers(console: Console, answered: Sequence[Answered]) -> None:
    """How often each method was right, over the questions that all were asked, and each beside the first."""
    asked = [{(row.task, row.step): row for row in answered if row.arm == arm} for arm in ARMS]
    common = sorted(set.intersection(*map(set, asked)))
    table = Table(title=f"{len(common)} questions", box=None, pad_edge=False)
    for head in (
        "",
        "right",
        "lines in view",
        "right with them in view",
        "right without",
        "request, tokens",
        f"beside {ARMS[0]}",
        "p",
    ):
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for arm, found in zip(ARMS, asked, strict=True):
        mine, first = [found[key] for key in common], [asked[0][key] for key in common]
        seen = [row for row in mine if row.kind != "never said" and row.in_view]
        unseen = [row for row in mine if row.kind != "never said" and not row.in_view]
        versus = Paired.of((ours.is_right, theirs.is_right) for ours, theirs in zip(mine, first, strict=True))
        table.add_row(
            arm,
            str(Share.of(sum(row.is_right for row in mine), len(mine))),
            f"{len(seen)} of {len(seen) + len(unseen)}",
            f"{sum(row.is_right for row in seen)} of {len(seen)}",
            f"{sum(row.is_right for row in unseen)} of {len(unseen)}",
            f"{sum(row.tokens for row in mine) / max(len(mine), 1):,.0f}",
            f"+{versus.only_ours} -{versus.only_theirs}",
            f"{versus.p:.3f}",
        )
    console.print(table)
    kinds = sorted({row.kind for row in answered})
    by_kind = Table(box=None, pad_edge=False)
    for head in ("", *kinds):
        by_kind.add_column(head, justify="right" if head else "left", no_wrap=True)
    for arm, found in zip(ARMS, asked, strict=True):
        of = [[found[key].is_right for key in common if found[key].kind == kind] for kind in kinds]
        by_kind.add_row(arm, *(f"{sum(right)} of {len(right)}" for right in of))
    console.print(by_kind)


def rows(path: Path) -> Iterator[Answered]:
    if path.exists():
        yield from (Answered(**json.loads(line)) for line in path.read_text().splitlines())


def asked(
    client: httpx2.Client, task: FactsTask, arm: str, budget: int, known: set[tuple[str, str, int]]
) -> Iterator[Answered]:
    """What the model answers to each question that it was not asked before."""
    todo = [number for number in range(len(task.questions)) if (task.id, arm, number) not in known]
    if not todo:
        return
    managed = METHODS[arm](budget)
    for message in task.history():
        if message.role == "assistant":
            managed.prompt(task.tools)  # as an agent would have: contexts are derived turn by turn
        managed.append(message)
    context = "\n\n".join(filter(None, map(text_of, managed.prompt(task.tools).messages)))
    for number in todo:
        question = task.questions[number]
        recalled = found(managed, question) if isinstance(managed, Derived) and arm == "paged" else ""
        start = time.monotonic()
        answer = client.post("/completion", json=body(f"{context}\n\n{recalled}", question)).raise_for_status().json()
        yield Answered(
            task=task.id,
            arm=arm,
            step=number,
            kind=question.kind,
            is_right=answer["content"].strip() == ", ".join(question.right),
            in_view=all(line in f"{context}\n{recalled}" for line in question.evidence),
            tokens=answer["timings"]["prompt_n"] + answer["timings"].get("cache_n", 0),
            cached=answer["timings"].get("cache_n", 0),
            seconds=round(time.monotonic() - start, 2),
        )


def found(managed: Derived, question: Question) -> str:
    """What recall finds for a question, as the harness puts it before it."""
    match managed.session.recall(question.text, limit=RECALLED):
        case pt.Recalled(hits=hits):
            return "\n".join(f"Recalled: {hit.excerpt[:RECALLED_CHARS]}" for hit in hits)
    return ""


def body(context: str, question: Question) -> dict[str, Any]:
    """A request to go on with a text, of which a grammar admits the possible answers: models this small do not follow instructions."""
    grammar = "root ::= " + " | ".join(json.dumps(f" {option}") for option in question.options)
    return {
        "prompt": f"{context}\n\nQuestion: {question.text}\nAnswer: {question.stem}",
        "n_predict": 24,
        "temperature": 0,
        "cache_prompt": True,
        "grammar": grammar,
    }


if __name__ == "__main__":
    sys.exit(main())
