"""Draws how many tokens of each request were at which level, by turn."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from pageturn.lab.report.axes import Frame, cut, mark, width_of
from pageturn.lab.report.scales import compact, from_nothing, kept
from pageturn.lab.report.style import FORMS, form_class
from pageturn.lab.report.svg import Node, add, label, node, path, picture, rule, svg_group
from pageturn.lab.report.turns import MOST_POINTS, Drawn, named, stretches, turns_across
from pageturn.lab.results import Form, ReplayedTurn, Result

_LEFT, _BELOW, _BETWEEN = 46, 44, 26
_ABOUT, _ABOVE = 1.3, 1.12  # times the budget: the limit of the common scale
_WORDS = {Form.POINTER: "pointers", Form.LINE: "index lines", Form.OTHER: "not pages"}


def residency(drawn: Sequence[Drawn], width: float) -> Node:
    """One panel a policy, all with the same scales."""
    columns = 2 if width > 600 and len(drawn) > 1 else 1
    tall = 150 if columns == 2 or width < 600 else 240
    wide = (width - (columns - 1) * _BETWEEN) / columns
    names = ", ".join(each.result.policy for each in drawn)
    used = [
        form for form in reversed(FORMS) if any(turn.forms.get(form) for each in drawn for turn in each.result.turns)
    ]
    key = list(_key(used, width))
    head = 24 + 18 * (int(key[-1].get("data-row", "0")) if key else -1)
    step = 26 + tall + _BELOW
    drawing = picture(width, head + step * -(-len(drawn) // columns), f"Tokens of each request by level: {names}")
    add(drawing, *key)
    peaks = [max(turn.tokens for turn in each.result.turns) for each in drawn]
    common = _common(drawn, peaks)
    for at, (each, peak) in enumerate(zip(drawn, peaks, strict=True)):
        left, top = (at % columns) * (wide + _BETWEEN), head + (at // columns) * step + 26
        across = turns_across(len(each.result.turns), left + _LEFT, left + wide - 6)
        frame = Frame(across, from_nothing(max(peak, common), top + tall, top))
        add(drawing, svg_group(*_panel(each, frame, left, wide, is_common=peak <= common)))
    return drawing


def _common(drawn: Sequence[Drawn], peaks: Sequence[int]) -> float:
    """The end of the common scale: the largest request of those near their budget, if any."""
    budget = drawn[0].result.budget_tokens
    keeping = [peak for peak in peaks if peak <= _ABOUT * budget]
    return max(*keeping, budget * _ABOVE) if keeping else max(peaks)


def _panel(each: Drawn, frame: Frame, left: float, wide: float, *, is_common: bool) -> Iterator[Node]:
    turns = each.result.turns
    top = frame.y.end
    folds = sum(turn.folded for turn in turns)
    aside = f"{folds:,} folds" if is_common else f"another scale, {folds:,} folds"
    yield mark(each.number, left + 7, top - 12, 5)
    yield label(cut(each.result.policy, wide - width_of(aside) - 40), left + 18, top - 8, class_="title")
    yield label(aside, left + wide - 6, top - 8, anchor="end", class_="faint small")
    yield from frame.grid(compact, ticks=4)
    yield from _layers(turns, frame)
    yield from _budget(each.result, frame)
    yield from frame.bottom(compact, "turn", ticks=6)
    yield from stretches(frame, len(turns), lambda some: _description(some, turns))


def _layers(turns: Sequence[ReplayedTurn], frame: Frame) -> Iterator[Node]:
    """The areas, each on top of the ones below it; tokens without a known level are not pages."""
    shown = kept([turn.tokens for turn in turns], MOST_POINTS)
    stacks = [list(accumulate(_sizes(turns[at]), initial=0)) for at in shown]
    for layer, form in enumerate(FORMS):
        if any(stack[layer + 1] > stack[layer] for stack in stacks):
            upper = [(frame.x(at + 1), frame.y(stack[layer + 1])) for at, stack in zip(shown, stacks, strict=True)]
            lower = [(frame.x(at + 1), frame.y(stack[layer])) for at, stack in zip(shown, stacks, strict=True)]
            yield path([*_wide(upper, frame), *reversed(_wide(lower, frame))], form_class(form), is_closed=True)


def _wide(points: list[tuple[float, float]], frame: Frame) -> list[tuple[float, float]]:
    """The points; a single one takes the whole width, since a line through it would be invisible."""
    return points if len(points) > 1 else [(frame.x.start, points[0][1]), (frame.x.end, points[0][1])]


def _sizes(turn: ReplayedTurn) -> list[int]:
    tokens = [turn.forms.get(form, 0) for form in FORMS]
    tokens[0] += max(turn.tokens - sum(tokens), 0)
    return tokens


def _budget(result: Result, frame: Frame) -> Iterator[Node]:
    if 0 < result.budget_tokens < frame.y.high:
        at = frame.y(result.budget_tokens)
        yield rule(frame.x.start, at, frame.x.end, at, "dashed thin")
        yield label("budget", frame.x.start + 4, at - 4, class_="faint small halo")


def _key(used: Sequence[Form], width: float) -> Iterator[Node]:
    """The meaning of each colour, in the order of the areas."""
    left, row = 0.0, 0
    for form in used:
        words = _WORDS.get(form, str(form))
        wide = 18 + width_of(words) + 14
        if left and left + wide > width:
            left, row = 0.0, row + 1
        at = 4 + row * 18
        swatch = node("rect", x=left, y=at, width=12, height=12, rx=2, class_=form_class(form))
        made = svg_group(swatch, label(words, left + 18, at + 10.5))
        made.set("data-row", str(row))
        yield made
        left += wide


def _description(some: Sequence[int], turns: Sequence[ReplayedTurn]) -> str:
    """The largest request of some turns."""
    at = max(some, key=lambda at: (turns[at].tokens, -at))
    turn = turns[at]
    sizes = dict(zip(FORMS, _sizes(turn), strict=True))
    parts = [f"{_WORDS.get(form, str(form))} {sizes[form]:,}" for form in reversed(FORMS) if sizes[form]]
    notes = [
        word for word, holds in (("folded", turn.folded), ("refused", turn.refused), ("cache gone", turn.cold)) if holds
    ]
    return "\n".join([named([at]) + "".join(f", {note}" for note in notes), f"{turn.tokens:,} tokens", *parts])
