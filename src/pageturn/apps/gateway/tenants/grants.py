"""Defines what was granted to a request: by which key, and what was set aside for it."""

from datetime import datetime
from typing import NamedTuple


class Grant(NamedTuple):
    """A request that may pass."""

    key_id: str
    scope: str
    period: str
    reserved: float  # dollars
    at: datetime
