"""The quality check: whether a text that a model wrote may be kept, and whether it may replace pages.

It depends on the text alone, so it is deterministic, and it never quotes the text, since its result is kept forever. It cannot tell
whether a summary is good. It rejects what no good summary is: a loop, a text full of names that occur nowhere, a text without names where
there are many, an instruction.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from unicodedata import category, normalize
from zlib import crc32

import msgspec

from pageturn.context.renditions.scanning import without_middle
from pageturn.values.handles import CHECK, NUMBER
from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message, Thinking, Visibility
from pageturn.values.search_text import search_text

_SPAN = 48  # characters; shorter ones repeat in any list
_LONGEST = 100_000  # characters; a longer text is no short form of anything, and is slow to compare
_MOST_NAMES = 400  # names that are compared; no summary has so many, and a long form is judged by a sample
_MOST_REPEATED = 1 / 3  # of the spans
_MOST_INVENTED = 1 / 4  # of the names; real summaries, which spell out paths, have up to a sixth
_MANY_NAMES = 5  # different names; a summary of so many that has none of them is useless
_NUMBER = re.compile(r"(?<!\w)\d+(?!\w)")  # by itself; inside a name it distinguishes names
_HANDLE_LIKE = re.compile(rf"\bp{NUMBER}\\?-{CHECK}\b")
_SET_ASIDE = r"\b(?:ignore|disregard|forget|override|bypass|violate|disobey)\b"
_TO_BE_OBEYED = r"(?:instruction|prompt|rule|message|direction|constraint|guideline)"
_COMMAND = re.compile(
    # what models and harnesses put between turns, or around their own text
    r"<\|[\w ]{1,40}\|>|\[/?INST\]|<</?SYS>>|\[/?SYSTEM_PROMPT\]|</?(?:start|end)_of_turn>"
    r"|</?system(?:[-_ ](?:reminder|prompt|message|instructions?))? ?/?>"
    # an instruction to ignore earlier instructions
    rf"|{_SET_ASIDE}[^.\n]{{0,40}}\b(?:previous|prior|above|earlier|preceding|system|developer)\b[^.\n]{{0,20}}\b{_TO_BE_OBEYED}"
    # or any rules at all; a summary may mention one rule among many, for example of a linter
    rf"|(?:{_SET_ASIDE}|\b(?:do not|don't|never|stop|no longer) (?:follow|obey)(?:ing)?)(?: (?:of|the|its)){{0,3}}"
    r" (?:all|any|every|each|your|my|our|these|those|safety|pinned|original|initial)"
    r"(?: (?:of|the|your|my|our|these|those|other|safety|pinned|original|initial|current|given)){0,4}"
    rf" {_TO_BE_OBEYED}s?\b"
    # or to take another role, or to obey what follows
    r"|\byou are now (?:a|an|the|free|no longer|unrestricted|dan)\b|\bfrom now on,? you (?:must|will|shall|are)\b"
    r"|\bnew (?:system )?(?:instructions?|prompt) ?:",
    re.IGNORECASE,
)
# Characters that reverse the order of letters, or are invisible.
_HIDING = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_BLANKS = re.compile(r"[ \t]+")
_GOES_ON = re.compile(r" ?\n ?(?![-*+•#>\d\n ])")  # into a line that is not a new point


def objection_to(text: str, messages: Sequence[Message], beside: Sequence[Message] = ()) -> str | None:
    """What is wrong with a text that should replace these messages (it may also use names from those `beside`); None if it is fine."""
    return flaw_of(text, evidence_of([*messages, *beside])) or omission_of(text, messages)


def flaw_of(text: str, evidence: str) -> str | None:
    """What is wrong with a text that should replace its evidence; None if it is fine."""
    return misbehaviour_of(text, evidence) or _invention_of(text, evidence)


def misbehaviour_of(text: str, evidence: str) -> str | None:
    """What is wrong with a text that a model wrote, whatever its purpose; None if it is fine."""
    if len(text) > _LONGEST:
        return f"its {len(text):,} characters are more than {_LONGEST:,}"
    if _HIDING.search(text):
        return "it has invisible characters"
    if commands(text):
        return "it gives instructions to its reader"
    if _loops(text, evidence):
        return "it repeats itself"
    return None


def _invention_of(text: str, evidence: str) -> str | None:
    names = list(_names(text))
    sample = names if len(names) <= _MOST_NAMES else sorted(names, key=_lot)[:_MOST_NAMES]
    invented = _absent(sample, evidence.casefold())
    if len(invented) > _MOST_INVENTED * len(sample):
        its = f"its {len(names)}" if sample is names else f"{len(sample)} of its {len(names)}"
        return f"{len(invented)} of {its} names occur nowhere in what it replaces"
    return None


def omission_of(text: str, messages: Iterable[Message]) -> str | None:
    """Whether a text has none of the names in messages with many. Names that summarizers are not shown do not count."""
    if _names(text):
        return None
    shown = [_without_thinking(each) for each in messages if each.visibility is Visibility.ALL]
    names = {_in_short(name) for name in _names(without_middle(evidence_of(shown))) if _is_distinctive(name)}
    folded = text.casefold()
    if len(names) < _MANY_NAMES or any(name in folded for name in names):
        return None
    return f"it names none of the {len(names)} names in what it replaces"


def _without_thinking(message: Message) -> Message:
    return msgspec.structs.replace(
        message, content=tuple(part for part in message.content if not isinstance(part, Thinking))
    )


def _is_distinctive(name: str) -> bool:
    """Whether a name is a file or an identifier in code. Numbers, digests and addresses need not be mentioned."""
    return (name.isalpha() or "_" in name or "/" in name) and not name.startswith("//")


def _in_short(name: str) -> str:
    """A name as a summary may shorten it: a file without its folders, in any case."""
    return name.rpartition("/")[2].casefold()


def _lot(name: str) -> int:
    """A key that draws a sample of names: the same in every process, and independent of their order."""
    return crc32(name.encode("utf-8", "replace"))


def evidence_of(messages: Iterable[Message]) -> str:
    """The text of these messages; arguments of calls both as JSON and decoded."""
    said = []
    for message in messages:
        said.append(search_text(message))
        said += [call.texts for call in message.tool_calls]
    return "\n".join(said)


def commands(text: str) -> bool:
    """Whether a text has the form of an instruction to a model, or of the marks between its turns."""
    return _COMMAND.search(_as_read(text)) is not None


def _as_read(text: str) -> str:
    """A text as a model reads it, however it is spelled: without invisible characters, and with wrapped lines joined."""
    if not text.isascii():
        text = "".join(letter for letter in normalize("NFKC", text) if category(letter) != "Cf")
    return _GOES_ON.sub(" ", _BLANKS.sub(" ", text.replace("\u2019", "'")))


def invented_in(text: str, evidence: str) -> list[str]:
    """The names of a text that do not occur in the evidence, which is in lower case."""
    return _absent(_names(text), evidence)


def _absent(names: Iterable[str], evidence: str) -> list[str]:
    return [name for name in names if name.casefold().lstrip("./~") not in evidence]


def _names(text: str) -> Mapping[str, int]:
    return names_in(_HANDLE_LIKE.sub(" ", text))


def _loops(text: str, evidence: str) -> bool:
    """Whether a text repeats itself more than what it replaces. Counting numbers do not make a repetition new."""
    spans = Counter(_spans(shape_of(text)))
    most = _MOST_REPEATED * spans.total()
    repeated = {span: times for span, times in spans.items() if times > 1}
    if sum(repeated.values()) - len(repeated) <= most:
        return False
    there = Counter(span for span in _spans(shape_of(evidence)) if span in repeated)
    return sum(max(0, times - max(1, there[span])) for span, times in repeated.items()) > most


def shape_of(text: str) -> str:
    """A text normalised to detect loops: lower case, one space for any whitespace, one number for any, and nothing escaped."""
    return _NUMBER.sub("0", " ".join(text.replace("\\", "").split())).casefold()


def _spans(text: str) -> Iterable[str]:
    return (text[at : at + _SPAN] for at in range(len(text) - _SPAN + 1))
