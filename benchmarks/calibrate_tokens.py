"""How far pageturn's token counts are from what providers reported, and what a fit would say.

    make calibrate DATA=../shared/data

Fitted for each family: tokens = slope x o200k tokens + a x messages + b x calls. The system prompt and the tool schemas
are billed but not recorded; inside a session they are constant, so everything here works on the differences between
consecutive reports, where they cancel. A report at an assistant message is the prompt before that message, cache reads
included. Least absolute deviations resist growth that no message explains: billed reasoning, injected reminders,
pruning. Fitted on sessions whose BLAKE2b hash is even, reported on the odd ones.
"""

import gzip
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pageturn as pt
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.tokens.encodings import encoding

SOURCES = ("claude-code", "codex-cli", "gemini-cli", "opencode", "pi")
FITTED = (("o200k",), ("o200k", "messages"), ("o200k", "messages", "calls"))
FIT_ROUNDS = 60
FEWEST_DIFFERENCES = 20

Weights = dict[str, float]
ESTIMATES: dict[str, Weights] = {"chars/4": {"chars": 0.25}, "o200k": {"o200k": 1.0}, "pageturn": {"pageturn": 1.0}}


class Step(NamedTuple):
    """What was added between two consecutive reports of one session."""

    before: int
    after: int
    features: Weights
    lost: bool  # compacted or shrunk: pruning, or reasoning that is dropped at a new turn
    outlier: bool  # more than 500 tokens and more than a factor of two away from the o200k count

    @property
    def grown(self) -> int:
        return self.after - self.before

    def estimate(self, weights: Weights) -> float:
        return sum(weight * self.features[name] for name, weight in weights.items())


def main(folder: Path) -> None:
    if not (folder / "traces").is_dir():
        print(f"skipped: there is no {folder / 'traces'}; give the data folder: make calibrate DATA=...")
        return
    print(f"{'':44} one difference   running total, error p50 p90     margin on a total")
    print(f"{'':44} error    bias    recorded only    everything      95 %   99 %")
    for family, (tuning, held_out) in sorted(by_family(folder).items()):
        every = [step for session in tuning + held_out for step in session]
        lost, outliers = sum(step.lost for step in every), sum(step.outlier and not step.lost for step in every)
        print(
            f"{family}: {len(tuning)} + {len(held_out)} sessions, {len(every)} differences, {lost} lost, {outliers} outliers"
        )
        if not held_out:
            print("  no session on the held-out side")
            continue
        estimates = dict(ESTIMATES)
        known = [step for session in tuning for step in session if not (step.lost or step.outlier)]
        for names in FITTED if len(known) >= FEWEST_DIFFERENCES else ():
            weights = fit(known, names)
            estimates["fit: " + " ".join(f"{weight:.2f} {name}" for name, weight in weights.items())] = weights
        for name, weights in estimates.items():
            print(f"  {name:<42} {errors(weights, held_out)}")


def by_family(folder: Path) -> dict[str, tuple[list[list[Step]], list[list[Step]]]]:
    """The steps of every session, by model family and by model, split into tuning and held out."""
    families: dict[str, tuple[list[list[Step]], list[list[Step]]]] = defaultdict(lambda: ([], []))
    for path in sorted((folder / "traces").glob("*.jsonl.gz")):
        source = path.name.split(".")[0]
        if source not in SOURCES:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for session in map(json.loads, lines):
                model = re.sub(r"-20\d{6}$", "", session["model"].replace(".", "-"))
                odd = int.from_bytes(hashlib.blake2b(session["id"].encode()).digest(), "big") % 2
                session_steps = list(steps(session, source))
                for family in (model.split("-")[0], f"{model} in {source}"):
                    families[family][odd].append(session_steps)
    return families


def steps(session: dict[str, Any], source: str) -> Iterator[Step]:
    cuts = [int(compaction["index"]) for compaction in session["annotations"]["compactions"]]
    counter = counter_for(session["model"])
    rows = [features(message, counter) for message in session["messages"]]
    found = reports(session, source)
    for (start, before), (stop, after) in pairwise(found):
        added = {name: sum(row[name] for row in rows[start:stop]) for name in rows[0]}
        grown, plain = after - before, added["o200k"]
        outlier = abs(grown - plain) > 500 and not 0.5 * plain <= grown <= 2 * plain
        lost = grown <= 0 or any(start < cut <= stop for cut in cuts)
        yield Step(before, after, added, lost, outlier)


def features(raw: dict[str, Any], counter: TokenCounter) -> Weights:
    content = raw.get("content") or ""
    calls = [call["function"] for call in raw.get("tool_calls") or ()]
    texts = [content, *(call["name"] for call in calls), *(call["arguments"] for call in calls)]
    ids = [call["id"] for call in raw.get("tool_calls") or ()]
    parts = [pt.ToolCall(id=id_, **call) for id_, call in zip(ids, calls, strict=True)]
    message = pt.assistant(*([content] if content else []), *parts)
    if raw["role"] == "tool":
        message = pt.tool_result(raw["tool_call_id"], content)
    return {
        "chars": sum(map(len, texts)),
        "o200k": sum(map(encoding("o200k_base").count, texts)),
        "messages": 1,
        "calls": len(calls),
        "pageturn": counter.message(message),
    }


def reports(session: dict[str, Any], source: str) -> list[tuple[int, int]]:
    """(first message that is not in the prompt, prompt tokens) of each response.

    Codex repeats a report when a turn starts, and the recording puts the report of a response without text on an earlier
    message. Without the repeats there is exactly one for each run of assistant messages, in order.
    """
    found = [(int(index), int(tokens)) for index, tokens in session["annotations"]["ctx_tokens"]]
    if source != "codex-cli":
        return found
    sizes = [tokens for at, (_, tokens) in enumerate(found) if at == 0 or tokens != found[at - 1][1]]
    roles = ["", *(message["role"] for message in session["messages"])]
    starts = [at for at, role in enumerate(roles[1:]) if role == "assistant" != roles[at]]
    return list(zip(starts, sizes, strict=True))


def fit(data: Sequence[Step], names: Sequence[str]) -> Weights:
    """Least absolute deviations: re-weighted least squares, solved by elimination."""
    size, beta = range(len(names)), [0.0] * len(names)
    rows = [([step.features[name] for name in names], step.grown) for step in data]
    for turn in range(FIT_ROUNDS):
        matrix = [[1e-9 * (i == j) for j in size] + [0.0] for i in size]
        for x, y in rows:
            weight = 1 / max(1.0, abs(y - sum(x[i] * beta[i] for i in size))) if turn else 1.0
            for i in size:
                matrix[i] = [cell + weight * x[i] * value for cell, value in zip(matrix[i], (*x, y), strict=True)]
        for i in size:
            for other in (row for row in size if row != i):
                factor = matrix[other][i] / matrix[i][i]
                matrix[other] = [cell - factor * pivot for cell, pivot in zip(matrix[other], matrix[i], strict=True)]
        beta = [matrix[i][-1] / matrix[i][i] for i in size]
    return dict(zip(names, beta, strict=True))


def errors(weights: Weights, sessions: Sequence[list[Step]]) -> str:
    """The errors of one estimate: single differences, running totals, and the margin that would cover them."""
    good = [step for session in sessions for step in session if not (step.lost or step.outlier)]
    single = [abs(step.estimate(weights) - step.grown) / step.grown for step in good if step.grown >= 200]
    bias = sum(step.estimate(weights) for step in good) / max(1, sum(step.grown for step in good))
    recorded, everything = (totals(sessions, weights, clean=clean) for clean in (True, False))
    shown = [quantiles([abs(ratio - 1) for ratio in ratios], 0.5, 0.9) for ratios in (recorded, everything)]
    margin = quantiles([1 / ratio for ratio in everything], 0.95, 0.99)
    return f"{quantiles(single, 0.5)} {bias:7.3f}   {shown[0]}   {shown[1]}   {margin}"


def totals(sessions: Sequence[list[Step]], weights: Weights, *, clean: bool) -> list[float]:
    """Estimated / reported at the end of each stretch of at least 5 steps and 2,000 tokens, from its first report on."""
    stretches: list[list[Step]] = []
    for session in sessions:
        stretches.append([])
        for step in session:
            if step.lost or (clean and step.outlier):
                stretches.append([])
            else:
                stretches[-1].append(step)
    long = [stretch for stretch in stretches if len(stretch) >= 5 and stretch[-1].after - stretch[0].before >= 2_000]
    return [(part[0].before + sum(step.estimate(weights) for step in part)) / part[-1].after for part in long]


def quantiles(values: list[float], *levels: float) -> str:
    ranked = sorted(values)
    at = [min(len(ranked) - 1, int(level * len(ranked))) for level in levels]
    return " ".join(f"{ranked[index]:6.3f}" if ranked else "     -" for index in at)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
