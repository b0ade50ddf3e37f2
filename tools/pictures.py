"""Draws the pictures of docs/renditions.md: a result of a tool, and what stands for it at each level, by the real renderers.

make pictures
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import pageturn as pt
from pageturn.context.renditions import PageMessage, render
from pageturn.context.renditions.content import material_of
from pageturn.tokens.counters import counter_for
from pageturn.values.identifiers import Vocabulary
from pageturn.values.search_text import search_text
from tools.picture_samples import SAMPLES, Sample

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
COUNTER = counter_for("gpt-5")
COLUMNS = 76  # characters of a line
LETTER, LEADING = 6.8, 15  # the widest and the tallest that letters of 11 take
PAD, GAP, HEAD = 12, 16, 44
WIDTH = COLUMNS * LETTER + 2 * PAD
MOST_LINES = {"compressed": 34, "structured": 14, "pointer": 3}
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 12px; fill: #1f2328 }
.line { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 11px; white-space: pre }
.level { font-weight: 600 } .faint { fill: #59636e }
.panel { fill: #f6f8fa; stroke: #d1d9e0 } .track { fill: #dde3e9 } .bar { fill: #0969da }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .faint { fill: #9198a1 }
.panel { fill: #151b23; stroke: #3d444d } .track { fill: #2a313c } .bar { fill: #4493f8 }
}
"""


class Panel(NamedTuple):
    """One level: its name, its tokens, and its words as lines that fit."""

    level: str
    tokens: int
    lines: list[str]

    @property
    def height(self) -> int:
        return HEAD + len(self.lines) * LEADING + PAD


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, sample in SAMPLES.items():
        (FOLDER / f"{name}.svg").write_text(picture(name, sample), encoding="utf-8")


def picture(name: str, sample: Sample) -> str:
    """A picture: the original at the left, the other levels at the right."""
    panels = panels_of(name, sample)
    full = panels[0].tokens
    height = sum(panel.height for panel in panels[1:]) + GAP * (len(panels) - 2)
    room = (height - HEAD - PAD) // LEADING
    left = panels[0]._replace(lines=shortened(panels[0].lines, room))
    body = [*drawn(left, 0, 0, height, full)]
    top = 0
    for panel in panels[1:]:
        body += drawn(panel, WIDTH + GAP, top, panel.height, full)
        top += panel.height + GAP
    size = f"{2 * WIDTH + GAP + 2:.0f} {height + 2}"
    told = ", ".join(f"{panel.level} {panel.tokens:,} tokens" for panel in panels)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {size}" role="img" aria-label="{name}: {told}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *body, "</svg>", ""])


def panels_of(name: str, sample: Sample) -> list[Panel]:
    call = pt.ToolCall(id="c1", name=sample.tool, arguments=pt.to_json(sample.arguments).decode())
    found = str(material_of(sample.text, call).type)
    assert found == name, f"the sample of {name} is taken for {found}"
    result = pt.tool_result(call, sample.text, is_error=sample.is_error)
    unit = [PageMessage("p7-k3qz", pt.assistant(call)), PageMessage("p8-w5ta", result)]
    tokens = sum(COUNTER.message(page.message) for page in unit)
    panels = [Panel("full", tokens, list(wrapped(sample.text)))]
    for level in list(pt.ResidencyLevel)[1:]:
        messages = render(unit, level, Vocabulary())
        tokens = sum(map(COUNTER.message, messages))
        if tokens < panels[-1].tokens:  # only a form that is shorter than those above it is offered
            text = search_text(messages[-1])
            panels.append(Panel(str(level), tokens, shortened(list(wrapped(text)), MOST_LINES[str(level)])))
    return panels


def wrapped(text: str) -> Iterator[str]:
    """The lines of a text, broken where they are too long, at a blank if there is one."""
    for line in text.rstrip("\n").split("\n"):
        rest = line
        while len(rest) > COLUMNS:
            blank = rest.rfind(" ", COLUMNS // 2, COLUMNS)
            end = blank + 1 if blank > 0 else COLUMNS
            yield rest[:end]
            rest = f"  {rest[end:]}"
        yield rest


def shortened(lines: list[str], most: int) -> list[str]:
    return (
        lines if len(lines) <= most else [*lines[: most - 1], f"… {len(lines) - most + 1} more lines in this picture"]
    )


def drawn(panel: Panel, x: float, y: int, height: int, full: int) -> Iterator[str]:
    """A panel: its level and tokens, a bar for its share of the tokens, and its lines."""
    share = panel.tokens / full
    inner = WIDTH - 2 * PAD
    yield f'<rect class="panel" x="{x:.1f}" y="{y}" width="{WIDTH:.1f}" height="{height}" rx="6"/>'
    yield f'<text class="level" x="{x + PAD:.1f}" y="{y + 20}">{panel.level}</text>'
    tokens = f"{panel.tokens:,} tokens" + (f", {share:.0%}" if share < 1 else "")
    yield f'<text class="faint" x="{x + WIDTH - PAD:.1f}" y="{y + 20}" text-anchor="end">{tokens}</text>'
    yield f'<rect class="track" x="{x + PAD:.1f}" y="{y + 28}" width="{inner:.1f}" height="4" rx="2"/>'
    yield f'<rect class="bar" x="{x + PAD:.1f}" y="{y + 28}" width="{max(inner * share, 4):.1f}" height="4" rx="2"/>'
    for number, line in enumerate(panel.lines):
        if line.strip():
            at = y + HEAD + 8 + number * LEADING
            yield f'<text class="line" x="{x + PAD:.1f}" y="{at}" xml:space="preserve">{escape(line)}</text>'


if __name__ == "__main__":
    main()
