"""Keeps labels few: a client that names a new model with every request must not make a new series with each."""

_MOST = 50
_LONGEST = 100
OTHER = "other"


class Bounded:
    """The first so many values of a label; any other is `other`."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: set[str] = set()

    def of(self, value: str) -> str:
        """The value, or `other`."""
        if value in self._known:
            return value
        if len(self._known) >= self._most or len(value) > _LONGEST or not value.isprintable():
            return OTHER
        self._known.add(value)
        return value
