"""How well recall finds what answers a question, beside other ways to search the same words.

    make bench-recall DATA=../shared/data ARGS="--tuning --together 6"

Questions about long chats, and questions made of the re-reads in recorded coding sessions. A question counts by the rank of the first
page that answers it (any1, any5, any10, mean reciprocal rank), and by whether the first ten have all of them (all10). For a question that
nothing answers, whatever is found is a false hit, and so it is for words about nothing that was said (noise).
"""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.recall import searchers
from benchmarks.recall.questions import Case, Question, chats, coding

_CATEGORIES = {
    "information_extraction": "facts",
    "knowledge_update": "updates",
    "temporal_reasoning": "time",
    "preference_following": "preferences",
    "instruction_following": "instructions",
    "contradiction_resolution": "contradictions",
    "multi_session_reasoning": "several",
    "event_ordering": "order",
    "summarization": "summaries",
}


_TOP = 5


class Found(NamedTuple):
    """What a searcher found for a question, and in how many seconds."""

    question: Question
    places: Sequence[int]
    seconds: float

    @property
    def rank(self) -> int | None:
        return next((at for at, place in enumerate(self.places) if place in self.question.answers), None)


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="make bench-recall")
    parser.add_argument("data", type=Path)
    parser.add_argument("--tuning", action="store_true", help="the half that was tuned on, instead of the other")
    parser.add_argument("--together", type=int, default=4, help="chats that are put into one session")
    parser.add_argument("--sessions", type=int, default=None, help="at most so many coding sessions")
    parser.add_argument("--only", choices=("chats", "coding"))
    parser.add_argument("--vectors", type=Path, help="a folder that keeps vectors: adds the rows of recall by meaning")
    given = parser.parse_args(arguments)
    if not (given.data / "memory_qa").is_dir():
        print(f"skipped: there is no {given.data}/memory_qa; give the data folder: make bench-recall DATA=...")
        return
    ways = _ways(given.vectors)
    if given.only != "coding":
        _report("Questions about chats", ways, [*chats(given.data, tuning=given.tuning, together=given.together)])
    if given.only != "chats":
        _report("Re-reads in coding sessions", ways, [*coding(given.data, tuning=given.tuning, most=given.sessions)])


Ways = dict[str, Callable[[Case], searchers.Searcher | None]]


def _ways(vectors: Path | None) -> Ways:
    ways: Ways = {
        "FTS5, whole messages": searchers.plain_fts5,
        "FTS5, passages": searchers.fts5_of_passages,
        "bm25s, whole messages": searchers.by_bm25s,
        "recall: words": searchers.ours,
    }
    if vectors is not None:
        from benchmarks.recall.cached import Cached  # noqa: PLC0415
        from pageturn.recall.embedders.minilm import MiniLm  # noqa: PLC0415

        embedder = Cached(MiniLm(), vectors)
        ways["MiniLM alone, passages"] = partial(searchers.dense, embedder=embedder)
        ways["recall: words and MiniLM"] = partial(searchers.ours, embedder=embedder)
    return ways


def _report(title: str, ways: Ways, cases: Sequence[Case]) -> None:
    questions = sum(bool(question.answers) for case in cases for question in case.questions)
    sizes = sorted(len(case.messages) for case in cases)
    name = f"{title}: {questions:,} questions, {len(cases)} sessions of {sizes[0]:,} to {sizes[-1]:,} messages"
    table = Table(title=name, title_justify="left")
    categories = list(
        dict.fromkeys(question.category for case in cases for question in case.questions if question.answers)
    )
    counts = Counter(question.category for case in cases for question in case.questions if question.answers)
    figures = ("any1", "any5", "95 %", "any10", "all10", "MRR", "false", "noise", "ms")
    for column in ("", *figures, *(f"{_CATEGORIES.get(each, each)} ({counts[each]}) in 5" for each in categories)):
        table.add_column(column, justify="left" if not column else "right", no_wrap=not column)
    for way, make in ways.items():
        found = _all_found(way, make, cases)
        if found:
            table.add_row(
                way,
                *_figures(found),
                *(
                    _share(each for each in found if each.question.category == c and each.question.answers)
                    for c in categories
                ),
            )
    Console(width=240).print(table)


def _all_found(way: str, make: Callable[[Case], searchers.Searcher | None], cases: Sequence[Case]) -> list[Found]:
    found: list[Found] = []
    for case in track(cases, description=way, transient=True):
        search = make(case)
        for question in case.questions if search is not None else ():
            start = perf_counter()
            places = search(question) if search is not None else ()
            found.append(Found(question, places, perf_counter() - start))
    return found


def _figures(found: Sequence[Found]) -> list[str]:
    asked = [each for each in found if each.question.answers]
    ranks = [each.rank for each in asked]
    none = [each for each in found if not each.question.answers and each.question.category != "nothing"]
    nothing = [each for each in found if each.question.category == "nothing"]
    figures = [f"{sum(r is not None and r < top for r in ranks) / len(ranks):.2f}" for top in (1, 5, 10)]
    every = sum(each.question.answers <= {*each.places} for each in asked) / len(asked)
    reciprocal = sum(1 / (r + 1) for r in ranks if r is not None) / len(ranks)
    false, noise = (
        f"{sum(bool(each.places) for each in those) / len(those):.2f}" if those else "-" for those in (none, nothing)
    )
    figures.insert(2, _interval(sum(r is not None and r < _TOP for r in ranks), len(ranks)))
    milliseconds = sorted(each.seconds for each in found)[len(found) // 2] * 1_000
    return [*figures, f"{every:.2f}", f"{reciprocal:.2f}", false, noise, f"{milliseconds:.0f}"]


def _share(found: Iterable[Found]) -> str:
    ranks = [each.rank for each in found]
    return f"{sum(rank is not None and rank < _TOP for rank in ranks) / len(ranks):.2f}"


def _interval(hits: int, of: int) -> str:
    """The interval of Wilson in which a share lies with 95 %, as if each question were asked by itself."""
    share, z = hits / of, 1.96
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5
    return f"{middle - half:.2f}-{middle + half:.2f}"


if __name__ == "__main__":
    main(sys.argv[1:])
