"""The ledger: what calls changed in the world, so that steps that are no longer shown are not taken twice.

Files with the digest of what was put into them, commands with their exit code, and calls of any other tool that does more than look.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pageturn.messages import Text, ToolCall, ToolResult
from pageturn.renditions.content import material_of
from pageturn.renditions.fencing import escaped, labelled
from pageturn.renditions.structured import Voiced, effects, outcome, subject

_MOST = 12  # lines of one ledger
_LONGEST = 160  # characters of a line
_COMMANDS = ("command", "cmd", "script")
_CHANGING = frozenset(("old_string", "old_str", "oldText", "oldString", "new_string", "content", "edits", "file_text"))
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_STEPS = re.compile(r"&&|\|\||[;|\n]")
_LOOKING = frozenset(
    "ask browse calculate check count describe diff fetch find get glob grep head inspect list look ls open query read recall resolve"
    " scan search show stat status tail think todo view wait watch web".split()
)  # what a tool's name begins with that only looks
_PRINTING = frozenset(
    "awk basename cat cd cut diff dirname du echo env file find grep head jq less ls nl printf pwd rg sed sort stat tail tree tr type"
    " uniq wc which".split()
)  # programs that only print
_DISCARDED = re.compile(r"\d?>(?:&\d| ?/dev/null)")
_WRITING = re.compile(r">|`|\$\(| -i\b| -delete\b| -exec")  # a file, a program in a program, a change in place
_GIT_LOOKS = re.compile(r"git (?:-C \S+ )?(?:status|log|diff|show|blame|branch$|ls-files|rev-parse|grep)\b")


class Effect(NamedTuple):
    """Something that a call changed. A newer effect on the same target takes its place."""

    page: int
    target: str
    told: str


def effects_of(unit: Sequence[tuple[int, Voiced]]) -> Iterator[Effect]:
    """What the calls of a unit changed, with the page that made each."""
    results = {result.tool_call_id: result for _, voiced in unit for result in voiced.message.tool_results}
    for page, voiced in unit:
        for call in voiced.message.tool_calls:
            came = _came(results.get(call.id))
            for target, did in _changes(call):
                yield Effect(page, target, labelled(voiced.handle, f"{escaped(did[:_LONGEST])}{came}"))


def ledger(told: Iterable[Effect]) -> str:
    """The newest effects on each target, one a line, and how many more there were; nothing where there were none."""
    newest = {effect.target: effect for effect in told}
    lines = [effect.told for effect in sorted(newest.values(), key=lambda effect: effect.page)]
    left_out = len(lines) - _MOST
    more = [f"{left_out:,} earlier changes"] if left_out > 0 else []
    return "\n".join(["changed:", *more, *lines[-_MOST:]]) if lines else ""


def _came(result: ToolResult | None) -> str:
    """How a call ended, where that is more than that it did."""
    if result is None:
        return ", no result"
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    code = outcome(result, text)
    return f", {code}" if code else ""


def _changes(call: ToolCall) -> Iterator[tuple[str, str]]:
    """The targets of a call, and what it did to each."""
    arguments = call.parsed
    fields = arguments if isinstance(arguments, Mapping) else {}
    command = next((fields[name] for name in _COMMANDS if name in fields), None)
    files = list(dict.fromkeys(_PATCHED.findall(call.texts))) if "*** " in call.arguments else []
    done = next(effects(call), "changed")
    if files:
        yield from ((path, f"{path} {done}") for path in files)
    elif not _CHANGING.isdisjoint(fields) and (path := material_of("", call).path) is not None:
        yield path, f"{path} {done}"
    elif command is not None:
        script = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        if not _only_prints(script):
            told = f"ran {' '.join(script.split())}"
            yield told, told
    elif not _only_looks(call.name):
        yield subject(call), subject(call)


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
