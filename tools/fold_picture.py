"""Draws docs/pictures/three-names.svg: how large the contexts of one synthetic session are, turn by turn, under the three names of Paged.

make pictures
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pageturn as pt
from pageturn.lab.our_policies import CharacterCounter, session_of
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace
from pageturn.values.recall_tool import RecallTool
from tools.pictures import FOLDER

NAME = "three-names"
BUDGET = 32_000
SEED, TURNS = 7, 120
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 820, 300, 58, 46, 40, 20
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 12px; fill: #1f2328 }
.small { font-size: 10.5px; fill: #59636e } .grid { stroke: #d1d9e0; stroke-width: 1 }
polyline { fill: none; stroke-width: 1.8 }
.everything { stroke: #8c959f; stroke-dasharray: 4 3 } .faithful { stroke: #8250df } .balanced { stroke: #0969da } .thrifty { stroke: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }
.faithful { stroke: #ab7df8 } .balanced { stroke: #4493f8 } .thrifty { stroke: #3fb950 }
}
"""


class Line(NamedTuple):
    """The tokens of each context, and how many of them were folds."""

    tokens: list[int]
    folds: int


def main() -> None:
    (FOLDER / f"{NAME}.svg").write_text(picture(), encoding="utf-8")


def lines() -> dict[str, Line]:
    """The session under each name, and sent whole."""
    trace = coding_session(SEED, TURNS)
    counter = CharacterCounter()
    sizes = [counter.message(message) for message in trace.messages]
    whole = Line([sum(sizes[:turn]) for turn in trace.turns], 0)
    names = {"faithful": pt.Paged.faithful(BUDGET), "balanced": pt.Paged(BUDGET), "thrifty": pt.Paged.thrifty(BUDGET)}
    return {"everything": whole, **{name: _replayed(trace, policy) for name, policy in names.items()}}


def _replayed(trace: Trace, policy: pt.Paged) -> Line:
    session = session_of(policy, CharacterCounter(), recall=RecallTool())
    tokens, folds, said = [], 0, 0
    for turn in trace.turns:
        session.extend(trace.messages[said:turn])
        context = session.derive()
        tokens.append(context.tokens)
        folds += context.fold is not None
        session.append(trace.messages[turn])
        said = turn + 1
    return Line(tokens, folds)


def picture() -> str:
    """Turns to the right, tokens upward; a step down is a fold."""
    drawn = lines()
    turns = len(drawn["everything"].tokens)
    most = 1.15 * max(max(line.tokens) for name, line in drawn.items() if name != "everything")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>The size of each context of one session under the three names of Paged</title>",
        f"<style>{STYLE}</style>",
        *_grid(turns, most),
        *_legend(drawn),
        *(_curve(name, line.tokens, turns, most) for name, line in drawn.items()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _at(turn: float, tokens: float, turns: int, most: float) -> tuple[float, float]:
    x = LEFT + (WIDTH - LEFT - RIGHT) * turn / max(1, turns - 1)
    return round(x, 1), round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * tokens / most, 1)


def _curve(name: str, tokens: Sequence[int], turns: int, most: float) -> str:
    points = [_at(turn, each, turns, most) for turn, each in enumerate(tokens) if each <= most]
    return f'<polyline class="{name}" points="{" ".join(f"{x},{y}" for x, y in points)}"/>'


def _grid(turns: int, most: float) -> Iterator[str]:
    for tokens in range(0, int(most) + 1, 5_000):
        _, y = _at(0, tokens, turns, most)
        yield f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" class="grid"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end" class="small">{tokens:,}</text>'
    for turn in range(0, turns, 20):
        x, _ = _at(turn, 0, turns, most)
        yield f'<text x="{x}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" class="small">{turn}</text>'
    yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end" class="small">turns; tokens of four characters, budget {BUDGET:,}</text>'


def _legend(drawn: dict[str, Line]) -> Iterator[str]:
    x = LEFT
    for name, line in drawn.items():
        told = name if name == "everything" else f"{name}, {line.folds} folds"
        yield f'<polyline class="{name}" points="{x},20 {x + 22},20"/><text x="{x + 28}" y="24">{told}</text>'
        x += 60 + 8 * len(told)


if __name__ == "__main__":
    main()
