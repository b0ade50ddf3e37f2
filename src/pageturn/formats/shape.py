"""Arranges the messages of a request so that the strictest reader of each vendor's format accepts it.

A format converts each part to its own blocks; this module groups the blocks into turns. Neighbours of one role become one turn, which
grows only at its end. Results come first, in the order of their calls. The user speaks first and, for most vendors, last. Instructions
open the request; where a vendor does not accept them later, they are sent as user text in tags. Empty content is removed before turns
are formed, so a turn that was sent does not change when more is added.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from pageturn.formats.fields import only_text
from pageturn.formats.media import placeholder
from pageturn.values.fillers import CONTINUED
from pageturn.values.messages import File, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.reminders import reminder

Block = dict[str, Any]
Hear = Callable[[Part, Message], Iterable[Block]]  # the blocks of a part of any role but the model's
Answer = Callable[[Message], Sequence[Block]]  # the blocks of a message of the model
KeepsInstruction = Callable[[Message, Role, Role | None], bool]  # whether an instruction is allowed between these roles
Waiting = defaultdict[str, list[int]]  # the calls of the model's last turn, by their ids

_OURS = -1  # the index of a message that was inserted
_TO_NOTHING = 1 << 40  # results without a call come after those with one


class Piece(NamedTuple):
    """A block, the index of its message, and for a result its place among the results of its turn."""

    block: Block
    source: int
    rank: int | None = None


class Turn:
    """Consecutive content of one role. `first` is the message that began it, whose fields apply to all."""

    __slots__ = ("first", "pieces", "role")

    def __init__(self, role: Role, first: Message | None = None) -> None:
        self.role = role
        self.first = first
        self.pieces: list[Piece] = []

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all messages."""
        return [piece.block for piece in self.pieces]

    def put_results_first(self) -> None:
        """Put results first, in the order of their calls; everything else follows in order of arrival."""
        if any(piece.rank is not None for piece in self.pieces):
            self.pieces.sort(key=_place)


def _place(piece: Piece) -> tuple[bool, int]:
    return piece.rank is None, piece.rank or 0


class Shape(NamedTuple):
    """A request: its opening instructions, and the turns after them."""

    opening: Turn
    turns: list[Turn]

    def through(self, message: int) -> list[Block]:
        """The blocks up to the last of this message or one before it."""
        pieces = [piece for turn in (self.opening, *self.turns) for piece in turn.pieces]
        ends = [at for at, piece in enumerate(pieces) if 0 <= piece.source <= message]
        return [piece.block for piece in pieces[: ends[-1] + 1]] if ends else []


def shaped(
    messages: Sequence[Message],
    hear: Hear,
    answer: Answer,
    say: Callable[[str], Block],
    *,
    keeps_instruction: KeepsInstruction = lambda _message, _behind, _ahead: False,
    user_ends: bool = True,
    is_request: bool = False,
) -> Shape:
    """The messages as turns; `say` makes a block of a plain text.

    `user_ends`: a request may not end with the model's message, so if the user said nothing, a fixed user text follows it, which stays
    between the two answers later. `is_request`: the model will answer.
    """
    shape = Shape(Turn(Role.SYSTEM), [])
    waiting: Waiting = defaultdict(list)
    for source, given in enumerate(messages):
        ahead = messages[source + 1].role if source + 1 < len(messages) else None
        role, message = _spoken(given, shape.turns, ahead, keeps_instruction)
        if role is Role.ASSISTANT:
            if _waits_for_user(shape.turns, user_ends=user_ends):  # also for an empty one: it was asked to continue
                shape.turns.append(_said(CONTINUED, say))
            pieces = [Piece(block, source) for block in answer(message)]
        elif (text := only_text(message)) is not None:  # true of most messages
            pieces = [Piece(say(text), source)] if text.strip() else []
        else:
            parts = [said for part in message.content if (said := _sayable(part, role)) is not None]
            pieces = [piece for part in parts for piece in _heard(part, hear(part, message), source, waiting)]
        if pieces:
            turn = _turn(shape, role)
            if role is Role.ASSISTANT:
                _call(message, waiting, is_first=not turn.pieces)
            turn.first = turn.first or message
            turn.pieces += pieces
    if not shape.turns or (is_request and _waits_for_user(shape.turns, user_ends=user_ends)):
        shape.turns.append(_said(CONTINUED, say))
    for turn in shape.turns:
        turn.put_results_first()
    return shape


def _spoken(
    message: Message, turns: Sequence[Turn], ahead: Role | None, keeps_instruction: KeepsInstruction
) -> tuple[Role, Message]:
    """The role and content of a message: an instruction after the opening becomes the user's where the vendor does not accept it."""
    role = _ROLES[message.role]
    if role is Role.SYSTEM and turns and not keeps_instruction(message, turns[-1].role, ahead):
        return Role.USER, lowered(message)
    return role, message


def _waits_for_user(turns: Sequence[Turn], *, user_ends: bool) -> bool:
    """Whether the user must say something before the model can answer."""
    return not turns or (user_ends and turns[-1].role is Role.ASSISTANT)


def _turn(shape: Shape, role: Role) -> Turn:
    """The turn that this role continues, or a new one."""
    if role is Role.SYSTEM and not shape.turns:
        return shape.opening
    if not shape.turns or shape.turns[-1].role is not role:
        shape.turns.append(Turn(role))
    return shape.turns[-1]


def _call(message: Message, waiting: Waiting, *, is_first: bool) -> None:
    """Note the calls of a message, in order, as waiting for results."""
    if is_first:
        waiting.clear()
    calls = message.tool_calls
    if calls:
        called = sum(map(len, waiting.values()))
        for number, call in enumerate(calls, start=called):
            waiting[call.id].append(number)


_ROLES = {
    Role.SYSTEM: Role.SYSTEM,
    Role.DEVELOPER: Role.SYSTEM,
    Role.USER: Role.USER,
    Role.TOOL: Role.USER,
    Role.ASSISTANT: Role.ASSISTANT,
}


def _sayable(part: Part, role: Role) -> Part | None:
    """A part of a role other than the model's, as this role may send it: only the user has results, and instructions are text only."""
    match part:
        case ToolResult() if role is Role.USER:
            return part
        case ToolCall() | ToolResult() | Thinking():
            return None
        case Image() | File() if role is Role.SYSTEM:
            return Text(text=placeholder(part))
        case _:
            return part


def _heard(part: Part, blocks: Iterable[Block], source: int, waiting: defaultdict[str, list[int]]) -> Iterator[Piece]:
    """The pieces of a part that is not the model's. For a result, the first is the result itself, and the others follow all results."""
    if type(part) is not ToolResult:
        yield from (Piece(block, source) for block in blocks)
        return
    calls = waiting[part.tool_call_id]
    rank: int | None = calls.pop(0) if calls else _TO_NOTHING
    for block in blocks:
        yield Piece(block, source, rank)
        rank = None


def _said(text: str, say: Callable[[str], Block]) -> Turn:
    turn = Turn(Role.USER)
    turn.pieces.append(Piece(say(text), _OURS))
    return turn


def lowered(message: Message) -> Message:
    """An instruction in a form that the user role may have: in tags that say who wrote it.

    The tags are those of `ContextMessage.system_reminder`, so a recorded request with them is recognised as a program's.
    """
    content = tuple(_tagged(part) if isinstance(part, Text) else part for part in message.content)
    return msgspec.structs.replace(message, content=content)


def _tagged(part: Text) -> Text:
    return Text(text=reminder(part.text)) if part.text.strip() else part
