"""Recorded requests of real clients, each with the answer that it got: `python -m tests.clients.recording` makes them anew.

A file has one line for each value that comes often (a message, a tool, a block of the prompt), and one for each exchange, which
refers to them. What is recorded is a walk of a few pages with a subagent in it, which pauses and is resumed in another process.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.model import decide
from tests.clients.playing import PAUSE
from tests.clients.provider import provider
from tests.clients.running import CLIENTS, Place, run
from tests.clients.scrubbing import Scrubber
from tests.clients.views import Said, View
from tests.clients.walk import walk
from tests.clients.wires import WIRES

FOLDER = Path(__file__).parent / "recorded"
_PAGES = 9
_LISTS = ("messages", "input", "tools", "system")
_LEFT_OUT = ("host", "content-length", "connection", "accept-encoding")


class Exchange(NamedTuple):
    """A request as a client sent it, and the pieces of the answer."""

    target: str
    headers: dict[str, str]
    body: bytes
    answer: list[bytes]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


def recorded(client: str) -> list[Exchange]:
    """What is kept of a client."""
    values: dict[str, Any] = {}
    return list(_read(FOLDER / f"{client}.jsonl", values))


def _read(file: Path, values: dict[str, Any]) -> Iterator[Exchange]:
    for line in file.read_text().splitlines():
        given = json.loads(line)
        if "value" in given:
            values[given["name"]] = given["value"]
            continue
        body = given["body"]
        for name in _LISTS:
            if isinstance(body.get(name), list):
                body[name] = [values[each] for each in body[name]]
        answer = [each.encode() for each in given["answer"]]
        yield Exchange(given["target"], given["headers"], json.dumps(body).encode(), answer)


def record(client: str) -> None:
    """Run a client, and keep what it sent."""
    with provider(_pausing) as upstream, tempfile.TemporaryDirectory() as folder:
        upstream.keeps = True
        upstream.forgiven = CLIENTS[client].forgiven
        place = Place.at(Path(folder))
        task = walk(1, _PAGES, size=120, delegated=True)
        task.write(place.work)
        for again, prompt in ((False, task.prompt), (True, "Go on.")):
            run(CLIENTS[client], place, upstream.url, prompt, again=again)
        assert task.is_solved(place.work), "it was not solved"
        assert not upstream.refused
        scrub = Scrubber({str(place.work): "/repository", str(place.home): "/home/user", folder: "/somewhere"})
        lines = list(_lines(upstream, scrub))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{client}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _lines(upstream: Any, scrub: Scrubber) -> Iterator[dict[str, Any]]:
    names: dict[str, str] = {}
    asked = [each for each in upstream.asked if each.target.partition("?")[0] in WIRES and each.method == "POST"]
    for number, (each, turn) in enumerate(zip(asked, upstream.turns, strict=True)):
        body = scrub.value(json.loads(each.body))
        for name in _LISTS:
            if not isinstance(body.get(name), list):
                continue
            for value in body[name]:
                text = json.dumps(value)
                if text not in names:
                    names[text] = f"v{len(names)}"
                    yield {"name": names[text], "value": value}
            body[name] = [names[json.dumps(value)] for value in body[name]]
        headers = {name: scrub.header(value) for name, value in each.headers if name not in _LEFT_OUT}
        answer = [piece.decode() for piece in turn.wire.events(number, turn.said, turn.used, {"model": "model"})]
        yield {"target": each.target, "headers": headers, "body": body, "answer": answer}


def _pausing(view: View) -> Said:
    said = decide(view)
    is_there = said.text.startswith(f"Page {_PAGES - 3} was")
    return Said(PAUSE) if is_there and not any("Go on." in text for text in view.texts) else said


if __name__ == "__main__":
    for name in sys.argv[1:] or CLIENTS:
        record(name)
