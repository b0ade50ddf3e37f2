"""What virtual keys have spent, and what is set aside for requests that are on their way."""

from datetime import datetime
from typing import Self

from pageturn.apps.gateway.tenants.keys import VirtualKey
from pageturn.stores import Sidecars, Slot
from pageturn.values.json import Closed, from_json, to_json


class Spent(Closed):
    """What a key has spent in one period, with what requests that are on their way may still take."""

    dollars: float

    @classmethod
    def of(cls, body: bytes | None) -> Self:
        """As it was stored."""
        return from_json(cls, body) if body is not None else cls(0.0)


class Spending:
    """What keys have spent."""

    def __init__(self, store: Sidecars) -> None:
        self._store = store

    def spent(self, key: VirtualKey, now: datetime) -> float:
        """Dollars of the period that now belongs to."""
        return Spent.of(self._store.document(_slot(key.id, key.period, now))).dollars

    def reserve(self, key: VirtualKey, dollars: float, now: datetime) -> bool:
        """Take an amount, if the budget has it."""
        slot = _slot(key.id, key.period, now)
        is_taken = False

        def change(found: dict[Slot, bytes | None]) -> dict[Slot, bytes | None]:
            nonlocal is_taken
            before = Spent.of(found[slot]).dollars
            is_taken = key.budget is None or before + dollars <= key.budget
            return {slot: to_json(Spent(before + dollars))} if is_taken else {}

        self._store.amend([slot], change)  # type: ignore[arg-type]
        return is_taken

    def charge(self, key_id: str, period: str, dollars: float, at: datetime) -> None:
        """Add an amount, which may be less than nothing, to what was spent in the period of that time."""
        slot = _slot(key_id, period, at)

        def change(found: dict[Slot, bytes | None]) -> dict[Slot, bytes | None]:
            return {slot: to_json(Spent(max(0.0, Spent.of(found[slot]).dollars + dollars)))}

        self._store.amend([slot], change)  # type: ignore[arg-type]


def _slot(key_id: str, period: str, now: datetime) -> Slot:
    when = {"day": f"{now:%Y-%m-%d}", "month": f"{now:%Y-%m}", "total": "total"}[period]
    return Slot("gateway/spent", f"{key_id}/{when}")
