"""The task: a walk through pages that can only be done by whoever reads them.

Each page names the next. Some name it by a code that stood in a page long before, so that it must still be seen, be recalled, or be
read again. The last page asks for the codes of several earlier ones; whoever writes their product into a file has solved it.
"""

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ANSWER = "answer.txt"
_FIRST = (
    "amber birch cedar delta ember fjord grove heron islet jade kelp lotus maple night ocean pearl quartz raven slate"
).split()
_SECOND = (
    "anchor bridge candle dagger engine feather garden hammer iceberg jacket kettle ladder mirror needle oyster"
).split()
_WORDS = (
    "request worker cache queue retry timeout payload session index shard replica commit offset buffer stream token quota "
    "latency socket thread parser lexer schema column digest signal handler router balance window ledger"
).split()

NEXT = re.compile(r"\bPAGE (\d+) OF (\d+): (\S+)\n(?:(?!.*\bPAGE \d+ OF).*\n)*?NEXT: (.+)$", re.MULTILINE)
_CODE_OF = re.compile(r"the code of (\S+?)[,.]?(?:\s|$)")


class Step(NamedTuple):
    """What a page says."""

    number: int
    name: str
    code: str
    next: str  # in words

    def text(self, count: int, size: int, chance: random.Random) -> str:
        """The page, with lines around what counts that nobody needs."""
        lines: list[str] = []
        while sum(map(len, lines)) < size:
            lines.append(_line(chance))
        middle = len(lines) // 2
        told = [f"code({self.name}) = {self.code}"]
        head = f"PAGE {self.number} OF {count}: {self.name}"
        return "\n".join(
            (head, *lines[:middle], *told, *lines[middle:], f"NEXT: {self.next}", f"END OF {self.name}", "")
        )


class Walk(NamedTuple):
    """A task: the files of a repository, how to ask for it, and what its end is."""

    pages: dict[str, str]  # by name
    prompt: str
    answer: str
    steps: tuple[Step, ...]

    def write(self, folder: Path) -> None:
        """Put the pages where a client will find them."""
        (folder / "pages").mkdir(parents=True)
        for name, text in self.pages.items():
            (folder / "pages" / f"{name}.txt").write_text(text)

    def is_solved(self, folder: Path) -> bool:
        """Whether the end is there, and is right."""
        file = folder / ANSWER
        return file.exists() and file.read_text().strip() == self.answer


def walk(seed: int, turns: int, *, size: int = 5_000, delegated: bool = False) -> Walk:
    """A walk of so many pages. The facts that are asked for lie at least a quarter of the walk back."""
    chance = random.Random(seed)
    names = [f"{first}-{second}" for first in _FIRST for second in _SECOND]
    chance.shuffle(names)
    codes = {name: f"{chance.randrange(16**8):08x}" for name in names[:turns]}
    far = max(turns // 4, 2)
    steps: list[Step] = []
    file_of: dict[str, str] = {}
    for number, name in enumerate(names[:turns]):
        after = names[number + 1] if number + 1 < turns else None
        if after is None:
            asked = ", ".join(
                f"the code of {each}" for each in chance.sample(names[: max(turns - far, 1)], min(4, turns))
            )
            said = f"write the product of {asked} (as hexadecimal numbers) to {ANSWER}, and say it."
        elif number == turns // 2 and delegated:
            said = f"have a subagent read pages/{after}.txt, and go on from there."
            file_of[after] = after
        elif number % 7 == 3 and number + 2 < turns and after not in file_of:  # two at once
            both = after, names[number + 2]
            file_of |= dict(zip(both, both, strict=True))
            said = f"read pages/{both[0]}.txt and pages/{both[1]}.txt."
        elif after in file_of:
            said = f"read pages/{after}.txt."
        elif number >= far and chance.random() < 0.3:
            old = chance.choice(names[: number - far + 1])
            if codes[old] in file_of.values():
                said, file_of[after] = f"read pages/{after}.txt.", after
            else:
                said, file_of[after] = f"read pages/(the code of {old} ).txt.", codes[old]
        else:
            said, file_of[after] = f"read pages/{after}.txt.", after
        steps.append(Step(number, name, codes[name], said))
    files = {file_of.get(step.name, step.name): step.text(turns, size, chance) for step in steps}
    product = 1
    for name in wanted(steps[-1].next):
        product *= int(codes[name], 16)
    prompt = (
        f"Walk through the pages of this folder. Begin with pages/{names[0]}.txt; each page says what to do next. "
        "Read every page whole, one at a time, with a command like `cat`. Go on until the last page is done."
    )
    return Walk(files, prompt, str(product), tuple(steps))


def furthest(texts: Iterable[str]) -> tuple[int, int, str, str] | None:
    """The last page of the way that can be seen: its number, how many there are, its name, and what it says is next."""
    found = (match for text in texts if "PAGE " in text for match in NEXT.finditer(text))
    best = max(found, key=lambda match: int(match[1]), default=None)
    return (int(best[1]), int(best[2]), best[3], best[4]) if best else None


def wanted(said: str) -> list[str]:
    """The pages whose codes are asked for."""
    return [match[1] for match in _CODE_OF.finditer(said)]


def code_of(name: str, texts: Iterable[str]) -> str | None:
    """A code, where it can be seen."""
    fact = re.compile(rf"code\({re.escape(name)}\) = ([0-9a-f]{{8}})\b")
    return next((found[1] for text in texts if (found := fact.search(text))), None)


def _line(chance: random.Random) -> str:
    words: Iterator[str] = (chance.choice(_WORDS) for _ in range(chance.randrange(6, 14)))
    return f"{chance.randrange(1, 10**6):06d} {' '.join(words)} {chance.randrange(10**9):x}"
