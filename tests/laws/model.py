"""The model: what a session should come to, kept by the test itself as plain lists of what was said, promised and taken back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile

import pageturn as pt
from pageturn.values.messages import Text, Thinking, ToolResult

ABANDONED = 32  # turns after which nobody waits for a call any more
HANDLE = re.compile(r"(?<![A-Za-z0-9])p([1-9][0-9]{0,14})-([a-z2-7]{4})(?![A-Za-z0-9])")


MARK = re.compile(r"Mark-?\d+q")  # which each text of `texts` has of its own


def said(message: pt.Message) -> tuple[str, bytes]:
    """What a message says and who says it, without its reasoning, which goes where what it was made on has changed."""
    return str(message.role), pt.to_json([part for part in message.content if not isinstance(part, Thinking)])


def words(message: pt.Message) -> str:
    """All texts of a message, those of its calls and results too, but not its reasoning."""
    told = []
    for part in message.content:
        match part:
            case Text(text=text):
                told.append(text)
            case pt.ToolCall(arguments=arguments):
                told.append(arguments)
            case ToolResult():
                told += [inner.text for inner in part.parts if isinstance(inner, Text)]
            case _:
                pass
    return "\n".join(told)


def our_words(message: pt.Message) -> str:
    """The texts of a message that the library may have written: a call stands as the model made it."""
    return message.text if message.tool_calls else words(message)


@dataclass(eq=False)
class Item:
    """Something that stands in the journal as a page."""

    handle: str
    message: pt.Message
    origin: str  # said, pin, plan, preference, note, reset, system
    is_opening: bool = False  # it came before anything but instructions did
    is_models: bool = False  # a model wrote it
    undone: bool = False
    spared: bool = False  # its turn was undone, and only its pin keeps it
    erased: bool = False
    replaced: bool = False
    pinned: bool = False
    form: str | None = None  # the short form that the author of a rule gave
    plan: pt.Plan | None = None
    is_clearing: bool = False  # it says that there is no plan any more
    scope: str | None = None  # of a preference

    @property
    def seq(self) -> int:
        return int(self.handle[1:].partition("-")[0])

    @property
    def counts(self) -> bool:
        return not (self.undone or self.erased or self.replaced)

    @property
    def is_turn(self) -> bool:
        return self.message.role == pt.Role.ASSISTANT and self.origin == "said"

    @property
    def is_rule(self) -> bool:
        """Instructions that opened the session, system messages of the host, and whatever is pinned."""
        if self.pinned or self.origin == "system":
            return True
        instructs = self.message.role == pt.Role.SYSTEM or (self.is_opening and self.message.role == pt.Role.DEVELOPER)
        return instructs and self.origin == "said"

    @property
    def is_instruction(self) -> bool:
        """A rule by what it is, and not because somebody pinned it."""
        return replace(self, pinned=False).is_rule

    @property
    def human_texts(self) -> list[str]:
        """What a person said in it: without what a harness put in."""
        message = self.message
        is_person = message.role == pt.Role.USER and self.origin == "said" and not message.synthetic
        if not is_person or message.tool_results:
            return []
        return [part.text for part in message.content if isinstance(part, Text) and not part.synthetic]

    @property
    def is_human(self) -> bool:
        others = [part for part in self.message.content if not isinstance(part, Text)]
        is_person = self.message.role == pt.Role.USER and self.origin == "said" and not self.message.synthetic
        return is_person and not self.message.tool_results and bool(self.human_texts or others)


@dataclass
class Open:
    """A call that may have no result yet."""

    item: Item
    call: pt.ToolCall
    results: list[Item] = field(default_factory=list)
    turns_since: int = 0


class Model:
    """One session."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.notes: dict[str, pt.ContextMessage] = {}  # durable ones, by key
        self.noted: set[str] = set()  # every text that a note ever had
        self.taken_back: set[str] = set()  # texts of notes that must not be sent again
        self.forms: dict[str, set[str]] = {}  # by handle: forms that a person approved
        self.written: set[str] = set()  # marks of what models wrote
        self.approved: set[str] = set()  # and those of them that a person approved
        self.grants: set[str] = set()
        self.resets: list[Item] = []
        self.seen: int = 0  # how many items the last context that was answered was made of
        self.is_shown = False  # whether any context was answered
        self.sent: list[pt.Context] = []  # the contexts that were answered
        self.derived: pt.Context | None = None  # the one that waits for an answer
        self.derived_items = 0

    def copy(self) -> "Model":
        """The same for a fork: pages are shared, what becomes of them is not."""
        other = Model()
        other.items = [replace(item) for item in self.items]
        place = {id(old): new for old, new in zip(self.items, other.items, strict=True)}
        other.notes, other.noted, other.taken_back = dict(self.notes), set(self.noted), set(self.taken_back)
        other.forms, other.written = {handle: set(forms) for handle, forms in self.forms.items()}, set(self.written)
        other.approved, other.grants = set(self.approved), set(self.grants)
        other.resets = [place[id(item)] for item in self.resets]
        other.seen, other.is_shown, other.sent = self.seen, self.is_shown, list(self.sent)
        return other

    # -- what there is

    @property
    def live(self) -> list[Item]:
        return [item for item in self.items if item.counts]

    def item(self, handle: str) -> Item | None:
        return next((item for item in self.items if item.handle == handle), None)

    @property
    def handles(self) -> dict[str, Item]:
        return {item.handle: item for item in self.items}

    @property
    def rules(self) -> list[Item]:
        return [item for item in self.live if item.is_rule]

    @property
    def plan(self) -> Item | None:
        """The plan in force, unless its page is gone; then there is none."""
        plans = [item for item in self.items if item.plan is not None or item.is_clearing]
        return plans[-1] if plans and plans[-1].counts and not plans[-1].is_clearing else None

    @property
    def people(self) -> list[Item]:
        return [item for item in self.live if item.is_human]

    @property
    def unseen(self) -> list[Item]:
        """What no context that was answered was made of. Plans that are over and wishes of another scope need not be shown at all."""
        covered = self.resets[-1].seq if self.resets else 0  # who writes the summary of a reset has seen it all
        return [
            item for item in self.items[self.seen :] if item.counts and item.seq >= covered and not self.is_hidden(item)
        ]

    def is_hidden(self, item: Item) -> bool:
        if item.origin == "plan":
            return item is not self.plan
        return item.scope is not None and item.scope not in self.grants

    @property
    def turns(self) -> list[Item]:
        """Turns that were not undone; an erased one was a turn all the same."""
        return [item for item in self.items if item.is_turn and not item.undone and not item.spared]

    def calls(self) -> list[Open]:
        """Every call that counts with the results that answer it: each goes to the newest call of its id that waits."""
        calls: list[Open] = []
        turns = self.turns
        for item in self.items:
            if item.undone:
                continue
            for result in item.message.tool_results:
                waiting = [each for each in calls if each.call.id == result.tool_call_id and not each.results]
                if waiting:
                    waiting[-1].results.append(item)
            later = sum(1 for turn in turns if turn.seq > item.seq)
            calls += [Open(item, call, turns_since=later) for call in item.message.tool_calls]
        return [each for each in calls if each.item.counts]

    @property
    def repeated_ids(self) -> set[str]:
        seen: set[str] = set()
        again: set[str] = set()
        for item in self.items:
            for call in item.message.tool_calls:
                (again if call.id in seen else seen).add(call.id)
        return again

    def marks_of(self, item: Item) -> set[str]:
        return set(MARK.findall(words(item.message)))

    def texts(self) -> Iterator[str]:
        """Every text that the host or a model gave, as it was given."""
        for item in self.items:
            yield words(item.message)

    # -- what becomes of it

    def add(self, page: pt.Page, message: pt.Message, origin: str = "said", **fields: object) -> Item:
        is_opening = all(item.is_rule or item.origin in ("plan", "preference") for item in self.items)
        item = Item(page.handle, message, origin, is_opening=is_opening, **fields)  # type: ignore[arg-type]
        self.items.append(item)
        return item

    def replace_system(self) -> None:
        """Before a new opening prompt comes: the one that stands no longer counts, nor do copies of it that came later."""
        opening = takewhile(lambda item: item.is_rule or item.is_instruction, self.items)
        before = [item for item in opening if item.is_instruction and not item.pinned]
        before += [item for item in self.items if item.origin == "system" and not item.pinned]
        contents = [(item.message.role, item.message.content) for item in before]
        for item in self.items:
            if item.is_instruction and not item.pinned and (item.message.role, item.message.content) in contents:
                item.replaced = True

    def answered(self, before: int) -> None:
        """The model replied; `before` is how many items there were."""
        if self.derived is not None:
            self.sent.append(self.derived)
            self.seen, self.is_shown, self.derived = self.derived_items, True, None
        elif not self.is_shown:
            self.seen = before + 1
