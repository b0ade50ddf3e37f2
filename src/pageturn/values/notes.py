"""Notes: keyed texts that a program places in the prompt, with the rules for keys and cooldowns.

A note is in one of four bands: after the base prompt, before the history, in the conversation, or at the very end. Notes of the
conversation are ordinary messages: they are never deduplicated and never throttled. How notes get into a context, and what happens
when a key is used again, is in `pageturn.context.notes` and `pageturn.journal.note_state`.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Self, TypedDict, Unpack

import msgspec

from pageturn.values.checks import require_instance, require_member, require_whole
from pageturn.values.json import Closed, Open
from pageturn.values.messages import Message, Role, Text, Visibility
from pageturn.values.reminders import tagged


class ContextMessageTarget(StrEnum):
    """The band that a note is placed in."""

    SYSTEM = "system"
    SESSION = "session"
    CONVERSATION = "conversation"
    SUFFIX_SYSTEM = "suffix_system"


class NoteDecision(StrEnum):
    """What happened to a note in a context."""

    # it is shown
    FIRST_EMIT = "first_emit"
    CONTENT_CHANGED = "content_changed"
    COOLDOWN_ELAPSED = "cooldown_elapsed"
    ALWAYS = "always"
    STICKY = "sticky"
    PROMOTED = "promoted"  # moved from after the history
    SUPERSEDED = "superseded"  # by a newer text of its key, which comes after it
    # not shown, or only because it was sent before
    RETRACTED = "retracted"
    # not shown
    COOLDOWN = "cooldown"
    DUPLICATE_KEY = "duplicate_key"
    OVER_BUDGET = "over_budget"
    CONSUMED = "consumed"
    EMPTY = "empty"

    @property
    def because(self) -> str:
        """Why the note is or is not shown, in a few words."""
        return _BECAUSE[self]


_BECAUSE = {
    NoteDecision.FIRST_EMIT: "first time",
    NoteDecision.CONTENT_CHANGED: "its text changed",
    NoteDecision.COOLDOWN_ELAPSED: "its cooldown is over",
    NoteDecision.ALWAYS: "every turn",
    NoteDecision.STICKY: "as sent before",
    NoteDecision.PROMOTED: "moved into its band by the fold",
    NoteDecision.SUPERSEDED: "replaced, stays until the next fold",
    NoteDecision.RETRACTED: "retracted",
    NoteDecision.COOLDOWN: "its cooldown is not over",
    NoteDecision.DUPLICATE_KEY: "replaced before it was shown",
    NoteDecision.OVER_BUDGET: "no room",
    NoteDecision.CONSUMED: "was shown once",
    NoteDecision.EMPTY: "its text is empty",
}


class NoteFields(TypedDict, total=False):
    """The optional fields of a note, besides its key, content and band."""

    role: Role
    visibility: Visibility
    cooldown_turns: int
    consume_after_emit: bool


class ContextMessage(Open, kw_only=True, omit_defaults=False):
    """A keyed note. `cooldown_turns` is how many turns are skipped after it was emitted; 0 means every turn. `consume_after_emit` shows
    it in one answered context only. Neither counts for a note of the conversation.
    """

    key: str
    role: Role = Role.SYSTEM
    content: str
    visibility: Visibility = Visibility.INTERNAL
    cooldown_turns: Annotated[int, msgspec.Meta(ge=0, lt=2**32)] = 0
    target: ContextMessageTarget = ContextMessageTarget.SYSTEM
    consume_after_emit: bool = False

    def __post_init__(self) -> None:
        # msgspec does not check constructors, and a target given as plain text would be in no band.
        for name in ("key", "content"):
            require_instance(f"$.{name}", getattr(self, name), str)
        for name, type_ in (("role", Role), ("visibility", Visibility), ("target", ContextMessageTarget)):
            require_member(f"$.{name}", getattr(self, name), type_)
        require_whole("$.cooldown_turns", self.cooldown_turns, below=2**32)

    @classmethod
    def system(cls, key: str, content: str, **fields: Unpack[NoteFields]) -> Self:
        """A hidden note directly after the base prompt."""
        return cls(key=key, content=content, **fields)

    @classmethod
    def session(cls, key: str, content: str, **fields: Unpack[NoteFields]) -> Self:
        """A hidden note before the history."""
        return cls(key=key, content=content, target=ContextMessageTarget.SESSION, **fields)

    @classmethod
    def suffix_system(cls, key: str, content: str, **fields: Unpack[NoteFields]) -> Self:
        """A hidden note at the very end of the prompt."""
        return cls(key=key, content=content, target=ContextMessageTarget.SUFFIX_SYSTEM, **fields)

    @classmethod
    def conversation(cls, key: str, role: Role, visibility: Visibility, content: str) -> Self:
        """A message in the conversation, placed like any other; its key is informative only."""
        return cls(key=key, role=role, visibility=visibility, content=content, target=ContextMessageTarget.CONVERSATION)

    @classmethod
    def conversation_user(cls, content: str) -> Self:
        """A visible user message whose key is derived from its text."""
        return cls._keyed_by_content(Role.USER, Visibility.ALL, content)

    @classmethod
    def conversation_internal_system(cls, content: str) -> Self:
        """A hidden system message in the conversation whose key is derived from its text."""
        return cls._keyed_by_content(Role.SYSTEM, Visibility.INTERNAL, content)

    @classmethod
    def system_reminder(cls, text: str) -> Self:
        """A hidden system message in reminder tags."""
        return cls.conversation_internal_system(tagged(text))

    @classmethod
    def _keyed_by_content(cls, role: Role, visibility: Visibility, content: str) -> Self:
        require_instance("$.content", content, str)
        key = f"conversation:{_digest(role, visibility, content, size=8)}"
        return cls.conversation(key, role, visibility, content)

    @property
    def is_prompt_injected(self) -> bool:
        """Whether the note is in the prompt only, and not in the conversation."""
        return self.target != ContextMessageTarget.CONVERSATION

    @property
    def should_throttle(self) -> bool:
        """Whether its cooldown applies."""
        return self.is_prompt_injected

    @property
    def is_of_prefix(self) -> bool:
        """Whether its band is in the cached part of the prompt."""
        return self.target in (ContextMessageTarget.SYSTEM, ContextMessageTarget.SESSION)

    @property
    def is_lasting(self) -> bool:
        """Whether it stays in the cached part because it is shown in every turn."""
        return self.is_of_prefix and not self.consume_after_emit and not self.cooldown_turns

    @property
    def digest(self) -> str:
        """A digest of what the model gets: role, visibility and text."""
        return _digest(self.role, self.visibility, self.content)

    def to_message(self, session_id: str) -> Message:
        """The message that the model gets. Its id follows from session, key and content, so it is always the same."""
        return Message(
            id=_digest(session_id, self.key, _digest(self.content), size=16),
            role=self.role,
            content=(Text(text=self.content),),
            visibility=self.visibility,
            synthetic=True,
        )


class Emission(Closed):
    """When a key was last emitted, and its text then."""

    turn: int
    digest: str


class Throttled(Closed):
    """The notes that the cooldowns let through, those that they hold back, and the new record of emissions."""

    emitted: tuple[ContextMessage, ...]
    suppressed: tuple[ContextMessage, ...]
    ledger: Mapping[str, Emission]


def throttle(notes: Iterable[ContextMessage], ledger: Mapping[str, Emission], turn: int) -> Throttled:
    """The cooldown rule: emit a note that is new, has changed, has no cooldown, or has waited longer than its cooldown."""
    emitted: list[ContextMessage] = []
    suppressed: list[ContextMessage] = []
    after = dict(ledger)
    for note in notes:
        if not note.should_throttle:
            emitted.append(note)
            continue
        now = emission(note, turn)
        if _is_cooling(note, after.get(note.key), now):
            suppressed.append(note)
        else:
            emitted.append(note)
            after[note.key] = now
    return Throttled(tuple(emitted), tuple(suppressed), after)


def emission(note: ContextMessage, turn: int) -> Emission:
    """The record of a note that was emitted in a turn."""
    return Emission(turn, _digest(note.content))


def _is_cooling(note: ContextMessage, last: Emission | None, now: Emission) -> bool:
    """Whether a note that has not changed since it was last emitted must still skip turns."""
    if last is None or last.digest != now.digest or note.cooldown_turns == 0:
        return False
    return now.turn - last.turn <= note.cooldown_turns


def _digest(*fields: str, size: int = 16) -> str:
    """A hash of several texts, the same on every machine; texts cannot run into each other."""
    digest = blake2b(digest_size=size)
    for field in fields:
        data = field.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
