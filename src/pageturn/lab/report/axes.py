"""Draws axes, the marks of policies, and labels that do not overlap."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.report.scales import Scale
from pageturn.lab.report.style import COLOURS
from pageturn.lab.report.svg import Node, label, node, path, rule

_LETTER = 6.9  # the width of a letter of 12 pixels in a wide script
_TALL = 14.0
_BESIDE = 20  # the distance up to which a label needs no line to its point
_NEAR = ((-1, -1), (1, -1), (1, 1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1))  # corners first: bars go the other ways


class Frame(NamedTuple):
    """The part of a drawing with the values, between its two scales."""

    x: Scale
    y: Scale

    def grid(self, show: Callable[[float], str], *, ticks: int = 5) -> Iterator[Node]:
        """Lines across the frame at round values of y, each with its label."""
        for value in self.y.ticks(ticks):
            at = self.y(value)
            yield rule(self.x.start, at, self.x.end, at, "grid")
            yield label(show(value), self.x.start - 7, at + 4, anchor="end", class_="faint small")

    def bottom(self, show: Callable[[float], str], title: str, *, ticks: int = 8) -> Iterator[Node]:
        """The axis at the bottom, with labels at round values of x and its title."""
        base = self.y.start
        yield rule(self.x.start, base, self.x.end, base, "axis")
        for value in self.x.ticks(ticks):
            yield rule(self.x(value), base, self.x(value), base + 4, "axis")
            yield label(show(value), self.x(value), base + 17, anchor="middle", class_="faint small")
        if title:
            yield label(title, (self.x.start + self.x.end) / 2, base + 35, anchor="middle", class_="faint")


class Box(NamedTuple):
    """A rectangle that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """The area that both take."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        tall = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(tall, 0.0)


class Labels:
    """Labels near their points, each placed where it covers the least."""

    def __init__(self, room: Box, taken: Sequence[Box]) -> None:
        self._room = room
        self._taken = list(taken)

    def place(self, words: str, points: Sequence[tuple[float, float]], class_: str) -> Iterator[Node]:
        """A label near one of some points, the first if there is room, with a line to it if the label is further away."""
        size = 0.92 if "small" in class_ else 1.14 if "title" in class_ else 1.0
        wide, tall = width_of(words) * size, _TALL * size
        candidates = [
            (order, distance, box)
            for order, point in enumerate(points)
            for distance, box in self._places(*point, wide, tall)
        ]
        order, distance, box = min(candidates, key=lambda each: (self._cost(each[2]), each[1], each[0]))
        self._taken.append(box)
        if distance > _BESIDE:
            x, y = points[order]
            yield rule(x, y, min(max(x, box.left), box.right), min(max(y, box.top), box.bottom), "lead thin")
        yield label(words, box.left, box.bottom - 3.5 * size, class_=f"halo {class_}")

    def _places(self, x: float, y: float, wide: float, tall: float) -> Iterator[tuple[int, Box]]:
        for distance in (8, 14, 24, 36, 52, 72):
            for across, down in _NEAR:
                left = x + across * distance - (wide if across < 0 else wide / 2 if across == 0 else 0)
                top = y + down * distance - (tall if down < 0 else tall / 2 if down == 0 else 0)
                yield distance, Box(left, top, left + wide, top + tall)

    def _cost(self, box: Box) -> float:
        outside = (box.right - box.left) * (box.bottom - box.top) - box.overlap(self._room)
        return round(4 * outside + sum(box.overlap(other) for other in self._taken), 3)


def width_of(words: str) -> float:
    """The approximate width of a text."""
    return len(words) * _LETTER


def cut(words: str, wide: float) -> str:
    """As much of a text as fits, with a mark if it was cut."""
    most = max(int(wide / _LETTER), 2)
    return words if len(words) <= most else f"{words[: most - 1]}…"


def colour(number: int) -> str:
    """The class of a policy's colour."""
    return f"c{number % COLOURS}"


def mark(number: int, x: float, y: float, size: float = 5.5) -> Node:
    """The shape of a policy, in its colour; shapes and colours cycle at different steps, so that there are many pairs."""
    class_ = f"{colour(number)} halo"
    big = size * 1.25
    match number % 5:
        case 0:
            return node("circle", cx=x, cy=y, r=size, class_=class_)
        case 1:
            return node("rect", x=x - size * 0.9, y=y - size * 0.9, width=size * 1.8, height=size * 1.8, class_=class_)
        case 2:
            corners = [(x, y - big), (x + big, y + size * 0.8), (x - big, y + size * 0.8)]
        case 3:
            corners = [(x, y - big), (x + big, y), (x, y + big), (x - big, y)]
        case _:
            corners = [(x, y + big), (x + big, y - size * 0.8), (x - big, y - size * 0.8)]
    return path(corners, class_, is_closed=True)
