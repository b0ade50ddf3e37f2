"""Values that no entry point asked for: wrong types, halves of characters, numbers that are none, loops, great depth."""

import math


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def nested_object(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def loop():
    value = []
    value.append(value)
    return value


def object_loop():
    value = {}
    value["self"] = value
    return value


class Speechless:
    """An object that cannot even be named."""

    def __repr__(self):
        raise ZeroDivisionError("no name")

    __str__ = __repr__


class Liar(str):
    """A text that is not what its type says."""

    __slots__ = ()


# Each is made anew, since some are changed by whoever looks at them.
HOSTILE = {
    "none": lambda: None,
    "true": lambda: True,
    "negative": lambda: -1,
    "five": lambda: 5,
    "beyond 64 bits": lambda: 2**70,
    "beyond printing": lambda: 10**5_000,
    "fraction": lambda: 1.5,
    "nan": lambda: math.nan,
    "infinity": lambda: -math.inf,
    "bytes": lambda: b"\xff\x00",
    "bytearray": lambda: bytearray(b"x"),
    "empty": lambda: "",
    "blank": lambda: " \n",
    "lone surrogate": lambda: "a\ud800b",
    "nul": lambda: "a\0b",
    "long": lambda: "x" * 70_000,
    "brackets": lambda: "[" * 3_000,
    "text subclass": lambda: Liar("x"),
    "list": list,
    "list of numbers": lambda: [1, None, 2.5],
    "list of surrogates": lambda: ["\ud800"],
    "object": dict,
    "odd keys": lambda: {1: 2, None: [3]},
    "surrogate key": lambda: {"\ud800": "\ud800"},
    "set": lambda: {1, 2},
    "loop": loop,
    "object loop": object_loop,
    "deep list": lambda: nested(100_000),
    "deep object": lambda: nested_object(2_000),
    "plain object": object,
    "type": lambda: int,
    "function": lambda: len,
    "generator": lambda: (each for each in [1, "\ud800"]),
    "exception": lambda: ValueError("x"),
    "speechless": Speechless,
    "list of speechless": lambda: [Speechless()],
}
