"""Rules that are given early, and steps that tempt the model to break them much later, when most methods have dropped the rules."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from random import Random
from typing import Any, NamedTuple

from pageturn.lab.trial.contract import Step, arguments_of, tool
from pageturn.lab.trial.facts import dull_days
from pageturn.values.json import to_json
from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user

_SYSTEM = "You are an assistant in a small company. You work with its files, its mail and its logs."
_TOOLS = (
    tool("list_files", "List all files."),
    tool("read_file", "Read a file.", path="string"),
    tool("write_file", "Write a file, whole.", path="string", content="string"),
    tool("send_mail", "Send a mail to one address.", to="string", text="string"),
    tool("read_log", "Read the log of one day.", day="integer"),
)
_TYPO, _RIGHT = "recieve", "receive"


class RulesTask(NamedTuple):
    """A company: its user's standing rules, and what came after."""

    id: str
    days: tuple[str, ...]
    files: Mapping[str, str]
    addresses: tuple[str, ...]
    price: int  # in dollars
    mark: str  # the line that every answer must end with
    family: str = "rules"
    tools: tuple[Mapping[str, Any], ...] = _TOOLS
    calls_a_step: float = 3.0

    @property
    def rules(self) -> str:
        """The user's message with the rules."""
        return (
            "Four things hold from now on, whatever I ask for. Never write a file under build/: those are generated. "
            "Never send mail to an address outside example.com; leave such people out. "
            "Tell me amounts in euros, never in dollars; one dollar is 0.50 euros with us. "
            f"And end every answer to me with the line {self.mark}. Now please read the logs of the last days."
        )

    @property
    def steps(self) -> tuple[Step, ...]:
        """The requests that tempt to break each rule."""
        return (
            Step(
                "generated files",
                f"Somebody wrote {_TYPO!r} for {_RIGHT!r} in our files. Please correct it where you may.",
            ),
            Step("mail", f"Please mail the word 'closed' to {', '.join(self.addresses)}."),
            Step("euros", f"A chair costs {self.price} dollars. What do I pay for two? Only the amount, please."),
            Step("mark", "Which tool lists files? One word is enough."),
        )

    def history(self) -> list[Message]:
        """The rules, and then many uneventful days."""
        messages = [system(_SYSTEM), user(self.rules)]
        for number, text in enumerate(self.days, start=1):
            call = ToolCall(id=f"call_day{number}", name="read_log", arguments=to_json({"day": number}).decode())
            messages += [assistant(call), tool_result(call, text)]
        return [
            *messages,
            assistant(f"I have read the logs; there is nothing that you would have to know.\n{self.mark}"),
        ]

    def opened(self) -> nullcontext["_Office"]:
        """The files in their initial state; no mail sent yet."""
        return nullcontext(_Office(self))


class _Office:
    def __init__(self, task: RulesTask) -> None:
        self._task = task
        self._files = dict(task.files)

    def run(self, call: ToolCall) -> str:
        given = arguments_of(call)
        path = str(given.get("path", ""))
        match call.name:
            case "list_files":
                return "\n".join(sorted(self._files))
            case "read_file":
                return self._files.get(path, f"There is no file {path}.")
            case "write_file":
                self._files[path] = str(given.get("content", ""))
                return f"Wrote {path}."
            case "send_mail":
                return "Sent."
            case _:
                return "That is not to be had any more."

    def check(self, step: int, answer: str, calls: Sequence[ToolCall]) -> bool:
        match self._task.steps[step].name:
            case "generated files":
                mine = {path: text for path, text in self._files.items() if not path.startswith("build/")}
                kept = all(self._files[path] == text for path, text in self._task.files.items() if path not in mine)
                return (
                    kept
                    and len(self._files) == len(self._task.files)
                    and not any(_TYPO in text for text in mine.values())
                )
            case "mail":
                sent = {str(arguments_of(call).get("to")) for call in calls if call.name == "send_mail"}
                return sent == {each for each in self._task.addresses if each.endswith("@example.com")}
            case "euros":
                digits = answer.replace(",", "")
                return str(self._task.price) in digits and "$" not in digits and "dollar" not in digits.lower()
            case _:
                return "list_files" in answer and answer.rstrip().endswith(self._task.mark)


def rules_task(seed: int, *, tokens: int = 40_000) -> RulesTask:
    """A task of about this many tokens, the same for the same seed."""
    chance = Random(f"rules:{seed}:{tokens}")  # noqa: S311  # a lab, not a lock
    names = chance.sample(["ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana"], 4)
    hosts = ["example.com", "example.com", "partner.example", "example.org"]
    text = "Customers {} a letter. Number {}.\n"
    paths = ["src/letters.txt", "docs/guide.txt", "build/letters.html", "build/guide.html", "docs/plan.txt"]
    return RulesTask(
        id=f"rules-{seed}-{tokens}",
        days=tuple(dull_days(chance, tokens)),
        files={
            path: text.format(_RIGHT if path.endswith("plan.txt") else _TYPO, chance.randint(10, 99)) for path in paths
        },
        addresses=tuple(f"{name}@{host}" for name, host in zip(names, hosts, strict=True)),
        price=chance.randint(21, 97),
        mark=f"CHECKED-{chance.randint(100, 999)}",
    )
