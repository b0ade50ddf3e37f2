"""Renditions on recorded sessions: what each level keeps of what later calls name, and in how many tokens.

    make bench-renditions DATA=../shared/data

Pages are tool results of at least 400 tokens. Beside our two levels, at the same number of tokens for the same page: the head
and the tail of the text; a list of its identifiers in order, bare and behind the line that says what the page is and how to get it
back; and headroom's compress (against ours cut to its size). Sessions of the reporting half only; "better" is a paired bootstrap
over sessions. The second table of each source tells the same by content type.
"""

import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import pageturn as pt
from pageturn.context.renditions import PageMessage
from pageturn.context.renditions.compressed import Compressor
from pageturn.context.renditions.content import material_of
from pageturn.context.renditions.structured import structured
from pageturn.lab.demand import covered, demand, lines_of
from pageturn.lab.traces import Trace, estimated_tokens, read_traces, text_of
from pageturn.tokens.counters import counter_for
from pageturn.values.identifiers import Vocabulary, names_in

SOURCES = ("claude-code.entireio-cli", "codex-cli.session-bridge", "pi.pi-mono", "opencode.session-bridge")
JUDGED = SOURCES[:2]
SESSIONS = 14
LEAST_TOKENS = 400
GOALS = {"structured": (0.12, 0.85), "compressed": (0.35, 0.95)}  # at most of the tokens, at least of the demand
COUNT = counter_for("gpt-5").text


class Page(NamedTuple):
    """A page of a recorded session, and what later turns want of it."""

    session: str
    text: str
    call: pt.ToolCall | None
    message: pt.Message
    wanted: frozenset[str]
    lines: frozenset[str]
    vocabulary: Vocabulary


class Score(NamedTuple):
    """What one form of a page came to."""

    tokens: int
    full: int
    hits: int
    wanted: int
    line_hits: int
    lines: int
    seconds: float = 0.0


def main(folder: Path) -> None:
    console = Console(width=110)
    if not (folder / "traces").is_dir():
        console.print(f"skipped: there is no {folder / 'traces'}; give the data folder: make bench-renditions DATA=...")
        return
    headroom = Headroom()
    judged: dict[str, list[Score]] = defaultdict(list)
    for source in SOURCES:
        traces = [t for t in read_traces(folder / "traces" / f"{source}.jsonl.gz") if t.is_long and not t.is_for_tuning]
        sample = random.Random(1).sample(traces, min(SESSIONS, len(traces)))
        if not sample:
            console.print(f"{source}: no long session in the reporting half")
            continue
        scores: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))  # form -> session -> pages
        by_type: dict[tuple[str, str], list[Score]] = defaultdict(list)
        for trace in track(sample, description=source, transient=True, console=console):
            for page in pages_of(trace):
                for form, score in forms_of(page, headroom):
                    scores[form][page.session].append(score)
                    by_type[str(material_of(page.text, page.call).type), form].append(score)
                    if source in JUDGED and form in GOALS:
                        judged[form].append(score)
        show(console, source, scores)
        show_types(console, by_type)
    for level, (most, least) in GOALS.items():
        share, coverage, *_ = pooled(judged[level])
        console.print(f"both judged sources, {level}: {share} at {coverage}; goal: {most:.0%} at {least:.0%}")
    headroom.close()


def pages_of(trace: Trace) -> Iterator[Page]:
    wants = demand(trace)
    vocabulary, calls = Vocabulary(), dict[str, pt.ToolCall]()
    for index, message in enumerate(trace.messages):
        text = text_of(message)
        if message.tool_results and estimated_tokens(message) >= LEAST_TOKENS:
            later = [want for want in wants if want.turn > index]
            wanted = frozenset(name for want in later for name in want.identifiers if name in text)
            lines = frozenset(line for want in later for line in want.lines) & lines_of(message)
            call = calls.get(message.tool_results[0].tool_call_id)
            yield Page(trace.id, text, call, message, wanted, frozenset(lines), vocabulary)
        vocabulary.hear(message)
        calls |= {call.id: call for call in message.tool_calls}


def forms_of(page: Page, headroom: "Headroom") -> Iterator[tuple[str, Score]]:
    material = material_of(page.text, page.call)
    compressor = Compressor(page.vocabulary)
    unit = [PageMessage("p2-abcd", page.message)]
    if page.call is not None:
        unit.insert(0, PageMessage("p1-abcd", pt.assistant(page.call)))
    full = COUNT(page.text)
    ours = {
        "structured": lambda: structured(unit, page.vocabulary).text(),
        "compressed": lambda: compressor.outline(material),
    }
    for level, make in ours.items():
        text, seconds = timed(make)
        yield level, score(page, text, full, seconds)
        yield f"{level}: head and tail", score(page, cut(page.text, COUNT(text), full), full)
        yield f"{level}: identifiers", score(page, listed(page.text, COUNT(text)), full)
        if level == "structured":
            head = text.splitlines()[0]
            rest = listed(page.text, COUNT(text) - COUNT(head))
            yield f"{level}: our first line, identifiers", score(page, f"{head}\n{rest}", full)
    theirs, seconds = timed(lambda: headroom.compress(page))
    if COUNT(theirs) < full:
        yield "headroom", score(page, theirs, full, seconds)
        yield "headroom: ours at its size", score(page, fitted(compressor, page, COUNT(theirs)), full)


def timed(make: Callable[[], str]) -> tuple[str, float]:
    start = perf_counter()
    text = make()
    return text, perf_counter() - start


def score(page: Page, text: str, full: int, seconds: float = 0.0) -> Score:
    shown = lines_of(pt.user(text)) if page.lines else set()
    return Score(
        COUNT(text),
        full,
        covered(page.wanted, text),
        len(page.wanted),
        len(page.lines & shown),
        len(page.lines),
        seconds,
    )


def cut(text: str, tokens: int, full: int) -> str:
    """The head and the tail of a text, of about so many tokens together."""
    half = int(len(text) * tokens / full) // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}" if half else text[:1]


def listed(text: str, tokens: int) -> str:
    """The identifiers of a text, in order, as many as fit into so many tokens."""
    names = list(names_in(text))
    low, high = 0, len(names)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if COUNT(" ".join(names[:middle])) <= tokens else (low, middle - 1)
    return " ".join(names[:low])


def fitted(compressor: Compressor, page: Page, tokens: int) -> str:
    """Our outline of a page in about as many tokens; never in more."""
    material, room = material_of(page.text, page.call), tokens * 4
    while COUNT(text := compressor.outline(material, room)) > tokens and room > 8:
        room = int(room * 0.9)
    return text


class Headroom:
    """The other library, in its own process and environment."""

    def __init__(self) -> None:
        python = Path(".venv-headroom/bin/python")
        self._process = subprocess.Popen(
            [python, Path(__file__).parent / "peers" / "headroom_compress.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def compress(self, page: Page) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        tool = page.call.name if page.call is not None else "bash"
        # Its router never touches the results of tools that read files, so every page goes in as a shell's.
        self._process.stdin.write(json.dumps({"tool": "bash" if tool == "Read" else tool, "text": page.text}) + "\n")
        self._process.stdin.flush()
        return str(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.terminate()


def show(console: Console, source: str, scores: dict[str, dict[str, list[Score]]]) -> None:
    pages = [page for session in scores["structured"].values() for page in session]
    judged = "judged" if source in JUDGED else "reported only"
    title = f"{source}: {len(scores['structured'])} sessions, {len(pages)} pages of at least {LEAST_TOKENS} tokens, {judged}"
    table = Table(title=title, title_justify="left")
    for column in ("", "tokens", "demand coverage", "verbatim coverage", "MB/s", "ours is better by"):
        table.add_column(column, justify="left" if not column else "right")
    for form, sessions in scores.items():
        rival_of, _, _ = form.partition(":")
        better = bootstrap(scores[rival_of], sessions) if ": " in form and rival_of != "headroom" else ""
        if form == "headroom: ours at its size":
            better = bootstrap(sessions, scores["headroom"])
        table.add_row(form, *pooled([page for session in sessions.values() for page in session]), better)
    console.print(table)


def show_types(console: Console, by_type: dict[tuple[str, str], list[Score]]) -> None:
    """Each content type and level, and what others cover of the same pages in as many tokens; headroom's tokens are its own."""
    table = Table(title="by content type; the last three are demand coverage", title_justify="left")
    for column in ("", "pages", "tokens", "demand", "verbatim", "MB/s", "head, tail", "identifiers", "headroom"):
        table.add_column(column, justify="left" if not column else "right")
    for name in sorted({name for name, _ in by_type}):
        for level in GOALS:
            pages = by_type[name, level]
            cut, listed = (pooled(by_type[name, f"{level}: {form}"])[1] for form in ("head and tail", "identifiers"))
            theirs = by_type[name, "headroom"] if level == "compressed" else []
            headroom = "{0[1]} in {0[0]}".format(pooled(theirs)) if theirs else ""
            table.add_row(f"{name}, {level}", str(len(pages)), *pooled(pages), cut, listed, headroom)
    console.print(table)


def pooled(pages: list[Score]) -> tuple[str, str, str, str]:
    tokens, full, hits, wanted, line_hits, lines, seconds = (sum(column) for column in zip(*pages, strict=True))
    rate = f"{full * 4 / 1e6 / seconds:.1f}" if seconds else ""
    return f"{tokens / full:.1%}", f"{hits / max(wanted, 1):.1%}", f"{line_hits / lines:.1%}" if lines else "", rate


def bootstrap(ours: dict[str, list[Score]], theirs: dict[str, list[Score]], rounds: int = 1_000) -> str:
    """By how much our coverage is greater, with the interval that holds 95 % of resampled sets of sessions."""
    chance = random.Random(1)
    names = [name for name in theirs if name in ours]
    sums = {
        name: [(sum(p.hits for p in form[name]), sum(p.wanted for p in form[name])) for form in (ours, theirs)]
        for name in names
    }

    def difference(sample: list[str]) -> float:
        (a, b), (c, d) = ([sum(sums[name][form][at] for name in sample) for at in (0, 1)] for form in (0, 1))
        return a / max(b, 1) - c / max(d, 1)

    drawn = sorted(difference(chance.choices(names, k=len(names))) for _ in range(rounds))
    return f"{difference(names):+.1%} [{drawn[25]:+.1%}, {drawn[-26]:+.1%}]"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
