"""Edits that make one good request into many bad ones, and the tables of bad ones."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

Edit = Callable[[Any], None]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
JPEG = "/9j/4AAQSkZJRgABAQEAYABgAAD/2Q=="
PDF = "JVBERi0xLjQKJcOkw7zDtsOfCg=="


def _reached(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def put(*path: Any) -> Edit:
    """Sets what stands at a path; the last step is the value."""
    *steps, last, value = path

    def edit(request: Any) -> None:
        _reached(request, tuple(steps))[last] = deepcopy(value)

    return edit


def drop(*path: Any) -> Edit:
    """Takes out what stands at a path."""
    *steps, last = path

    def edit(request: Any) -> None:
        del _reached(request, tuple(steps))[last]

    return edit


def insert(*path: Any) -> Edit:
    """Puts a value into a list, before the place that a path names; the last step is the value."""
    *steps, at, value = path

    def edit(request: Any) -> None:
        _reached(request, tuple(steps)).insert(at, deepcopy(value))

    return edit


def add(*path: Any) -> Edit:
    """Puts a value at the end of a list; the last step is the value."""
    *steps, value = path

    def edit(request: Any) -> None:
        _reached(request, tuple(steps)).append(deepcopy(value))

    return edit


def swap(*path: Any) -> Edit:
    """Exchanges an element of a list with the one behind it."""
    *steps, at = path

    def edit(request: Any) -> None:
        list_ = _reached(request, tuple(steps))
        list_[at], list_[at + 1] = list_[at + 1], list_[at]

    return edit


def both(*edits: Edit) -> Edit:
    def edit(request: Any) -> None:
        for each in edits:
            each(request)

    return edit


def edited(request: Mapping[str, Any], *edits: Edit) -> dict[str, Any]:
    """A copy of a request with edits in it."""
    copied = deepcopy(dict(request))
    both(*edits)(copied)
    return copied


@dataclass(frozen=True)
class Kind:
    """A documented kind of invalid request: the code that a reader gives it, where it is documented, and how to make one."""

    code: str
    documented: str
    edit: Edit
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.code


def kind(code: str, documented: str, *edits: Edit, **options: Any) -> Kind:
    return Kind(code, documented, both(*edits), options)
