"""The values: decoding and encoding messages beside pydantic doing the same, and what one append has to work out."""

import random
from typing import Annotated, Any, Literal

import pydantic
from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.stopwatch import best_ms
from pageturn.tokens.counters import counter_for
from pageturn.values.pages import classify_all
from pageturn.values.relevance import extract

MESSAGES = 10_000
WORDS = (
    "the login service returns an error for tokens without expiry see src/auth/login.py and tests/test_login.py".split()
)


class PydanticText(pydantic.BaseModel):
    type: Literal["text"] = "text"
    text: str


class PydanticToolCall(pydantic.BaseModel):
    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: str


class PydanticToolResult(pydantic.BaseModel):
    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    content: str
    is_error: bool = False


PydanticPart = Annotated[PydanticText | PydanticToolCall | PydanticToolResult, pydantic.Field(discriminator="type")]


class PydanticMessage(pydantic.BaseModel):
    id: str | None = None
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: tuple[PydanticPart, ...]
    visibility: Literal["all", "internal"] = "all"
    synthetic: bool = False
    metadata: dict[str, Any] = {}


def sample_messages() -> list[pt.Message]:
    """Calls, results of about a kilobyte, and talk, in the proportions of a coding session."""
    chance = random.Random(1)

    def prose(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    messages: list[pt.Message] = []
    for number in range(MESSAGES // 4):
        call = pt.ToolCall(id=f"call_{number}", name="bash", arguments=pt.to_json({"command": prose(12)}).decode())
        messages += [
            pt.user(prose(30)),
            pt.assistant(prose(20), call),
            pt.tool_result(call, "\n".join(prose(14) for _ in range(chance.randint(4, 20)))),
            pt.assistant(prose(40)),
        ]
    return messages


def show(console: Console) -> None:
    messages = sample_messages()
    lines = [pt.to_json(message) for message in messages]
    unknown = [line[:-1] + b',"name":"ada"}' for line in lines]
    theirs = [PydanticMessage.model_validate_json(line) for line in lines]
    counter = counter_for("gpt-5")
    timed = {
        "decode, pageturn": best_ms(lambda: [pt.from_json(pt.Message, line) for line in lines]),
        "decode, pydantic": best_ms(lambda: [PydanticMessage.model_validate_json(line) for line in lines]),
        "encode, pageturn": best_ms(lambda: [pt.to_json(message) for message in messages]),
        "encode, pydantic": best_ms(lambda: [message.model_dump_json() for message in theirs]),
        "decode, with unknown fields": best_ms(lambda: [pt.from_json(pt.Message, line) for line in unknown], rounds=3),
        "classify": best_ms(lambda: classify_all(messages)),
        "extract": best_ms(lambda: [extract(message) for message in messages]),
        "count": best_ms(lambda: [counter.message(message) for message in messages]),
    }
    size = sum(map(len, lines)) / 1e6
    table = Table(title=f"Values: {MESSAGES:,} messages, {size:.1f} MB", title_justify="left")
    for column in ("", "ms", "us a message", "MB/s", "against pydantic"):
        table.add_column(column, justify="left" if not column else "right")
    for name, ms in timed.items():
        verb = name.split(",", maxsplit=1)[0]
        peer = timed.get(f"{verb}, pydantic")
        ratio = f"{peer / ms:.2f}x as fast" if peer else ""
        table.add_row(name, f"{ms:.1f}", f"{ms * 1_000 / MESSAGES:.2f}", f"{size / ms * 1_000:.0f}", ratio)
    console.print(table)
