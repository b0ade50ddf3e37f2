"""Legacy: hygiene, then keep the newest that fit."""

from pageturn.policies.contract import DerivePolicy


class Legacy(DerivePolicy, tag="legacy"):
    """The oldest pipeline: no budget of its own, the model's capacity decides."""


STORED_DEFAULT = Legacy()  # what a stored session that names no policy means
