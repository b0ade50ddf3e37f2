"""Keeps a ledger of the side effects of calls, so that steps that are no longer shown are not repeated.

It lists files with the digest of their new content, commands with their exit code, and calls of any other tool that is not read-only.
The newest are shown one by one, as far as there is room; the others are counted by kind, and none is dropped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from pageturn.context.renditions.edits import files_edited
from pageturn.context.renditions.structured import PageMessage, effects, outcome, subject
from pageturn.values.fencing import escaped, labelled
from pageturn.values.json import Closed
from pageturn.values.messages import Text, ToolCall, ToolResult

_KEPT = 256  # effects that a ledger lists one by one; older ones are counted
_KINDS = 24  # kinds that it counts; rarer ones are counted together
_TOLD_KINDS = 8  # and that it names
_LONGEST = 160  # characters of a line
_LONGEST_KIND = 40
_EDIT, _OTHER = "edit", ""
_COMMANDS = ("command", "cmd", "script")
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_STEPS = re.compile(r"&&|\|\||[;|\n]")
# Prefixes of the names of read-only tools.
_LOOKING = frozenset(
    "ask browse calculate check count describe diff fetch find get glob grep head inspect list look ls open query read recall resolve"
    " scan search show stat status tail think todo view wait watch web".split()
)
# Programs that only print.
_PRINTING = frozenset(
    "awk basename cat cd cut diff dirname du echo env file find grep head jq less ls nl printf pwd rg sed sort stat tail tree tr type"
    " uniq wc which".split()
)
_LOOKED_AT = 2_000  # characters of a command
_WRAPPERS = frozenset("bash sh zsh env sudo nohup time timeout exec xargs".split())
_WITH_SUBCOMMANDS = frozenset(
    "apt apt-get aws az brew cargo docker gcloud gh git go helm kubectl make npm npx pip pnpm poetry python3 systemctl terraform uv"
    " yarn".split()
)
_DISCARDED = re.compile(r"\d?>(?:&\d| ?/dev/null)")
_WRITING = re.compile(r">|`|\$\(| -i\b| -delete\b| -exec")  # a redirection, a nested command, a change in place
_GIT_LOOKS = re.compile(r"git (?:-C \S+ )?(?:status|log|diff|show|blame|branch$|ls-files|rev-parse|grep)\b")


class Effect(NamedTuple):
    """A side effect of a call. A newer effect on the same target replaces it and counts both."""

    page: int
    target: str
    text: str
    kind: str = _OTHER  # the kind that it is counted as: the program, the tool, or an edit
    times: int = 1

    @property
    def line(self) -> str:
        """The effect as a line."""
        return self.text if self.times == 1 else f"{self.text}, {self.times:,} times"


class Counted(NamedTuple):
    """Effects of one kind that are only counted."""

    kind: str
    times: int
    last: int  # the page of the newest


class Ledger(Closed):
    """What was changed in a run of pages: the newest effects on different targets, oldest first, and counts of the others."""

    effects: tuple[Effect, ...] = ()
    counted: tuple[Counted, ...] = ()

    @classmethod
    def of(cls, effects: Iterable[Effect], counted: Iterable[Counted] = ()) -> "Ledger":
        """A ledger of these effects; its size is limited, whatever happened."""
        newest: dict[str, Effect] = {}
        for effect in sorted(effects, key=_page):
            before = newest.pop(effect.target, None)
            newest[effect.target] = effect if before is None else effect._replace(times=effect.times + before.times)
        every = tuple(newest.values())
        older = every[:-_KEPT]
        kinds: dict[str, Counted] = {}
        for each in (*counted, *(Counted(effect.kind, effect.times, effect.page) for effect in older)):
            before_ = kinds.get(each.kind, Counted(each.kind, 0, 0))
            kinds[each.kind] = Counted(each.kind, before_.times + each.times, max(before_.last, each.last))
        return cls(every[-_KEPT:], _most_frequent(kinds.values(), _KINDS))

    @property
    def pages(self) -> list[int]:
        """The page of each effect that is kept one by one."""
        return [effect.page for effect in self.effects]

    def text(self, shown: int) -> str:
        """The newest effects one by one, and the others by kind; empty if there are none."""
        listed = self.effects[max(0, len(self.effects) - shown) :]
        older = self.effects[: len(self.effects) - len(listed)]
        others = Ledger.of((), (*self.counted, *(Counted(each.kind, each.times, each.page) for each in older))).counted
        more = sum(each.times for each in others)
        if not listed:
            return f"changed: {_in_words(others)}" if others else ""
        lines = [effect.line for effect in listed]
        return "\n".join(["changed:", *lines, *([f"and {more:,} more before: {_in_words(others)}"] if more else [])])


def _most_frequent(counted: Iterable[Counted], most: int) -> tuple[Counted, ...]:
    """The kinds in order of frequency; the rarest together."""
    ranked = sorted(counted, key=lambda each: (each.kind == _OTHER, -each.times, each.kind))
    if len(ranked) <= most:
        return tuple(ranked)
    rest = ranked[most - 1 :]
    together = Counted(_OTHER, sum(each.times for each in rest), max(each.last for each in rest))
    return (*ranked[: most - 1], together)


def _in_words(counted: Iterable[Counted]) -> str:
    return ", ".join(_many(each) for each in _most_frequent(counted, _TOLD_KINDS))


def _many(counted: Counted) -> str:
    if counted.kind in (_EDIT, _OTHER):
        what = "edit" if counted.kind == _EDIT else "other change"
        return f"{counted.times:,} {what}{'s' if counted.times > 1 else ''}"
    return f"{counted.times:,} x {counted.kind}"


def _page(effect: Effect) -> int:
    return effect.page


def effects_of(unit: Sequence[tuple[int, PageMessage]]) -> Iterator[Effect]:
    """What the calls of a unit changed, with the page of each call."""
    results = {result.tool_call_id: result for _, page in unit for result in page.message.tool_results}
    for seq, page in unit:
        for call in page.message.tool_calls:
            came = _came(results.get(call.id))
            for target, did, kind in _changes(call):
                text = labelled(page.handle, f"{escaped(did[:_LONGEST])}{came}")
                yield Effect(seq, _named(target), text, escaped(kind[:_LONGEST_KIND]))


def _named(target: str) -> str:
    """A target, or a digest of it if it is long, so that a whole script is not stored."""
    return target if len(target) <= _LONGEST else blake2b(target.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _came(result: ToolResult | None) -> str:
    """How a call ended, unless it ended well."""
    if result is None:
        return ", no result"
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    code = outcome(result, text)
    return f", {code}" if code else ""


def _changes(call: ToolCall) -> Iterator[tuple[str, str, str]]:
    """The targets of a call, what it did to each, and the kind that it counts as."""
    arguments = call.parsed
    fields = arguments if isinstance(arguments, Mapping) else {}
    command = next((fields[name] for name in _COMMANDS if name in fields), None)
    if files := files_edited(call):
        done = next(effects(call), "changed")
        yield from ((path, f"{path} {done}", _EDIT) for path in files)
    elif command is not None:
        script = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        if not _only_prints(script):
            text = f"ran {' '.join(script.split())}"
            yield text, text, _program(script)
    elif not _only_looks(call.name):
        yield subject(call), subject(call), call.name


def _program(script: str) -> str:
    """What a command runs: the first program that may change something, with its subcommand if it has them."""
    words: list[str] = []
    for step in _STEPS.split(script[:_LOOKED_AT]):
        words = step.replace('"', " ").replace("'", " ").split()
        while words and (words[0] in _WRAPPERS or "=" in words[0] or words[0].startswith("-")):
            del words[0]
        if words and words[0] not in _PRINTING:
            break
    return " ".join(words[: 2 if words[0] in _WITH_SUBCOMMANDS else 1]) if words else "command"


def _only_prints(command: str) -> bool:
    """Whether every program of a command is known to change nothing."""
    command = _DISCARDED.sub("", command)
    if _WRITING.search(command):
        return False
    steps = [step.strip() for step in _STEPS.split(command) if step.strip()]
    return all(step.split()[0] in _PRINTING or _GIT_LOOKS.match(step) for step in steps)


def _only_looks(tool: str) -> bool:
    words = _WORDS.findall(tool)
    return not words or words[0].lower() in _LOOKING
