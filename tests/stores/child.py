"""A writer in a process of its own, to be killed or raced against; it says what it did once it is done.

`steps PATH FIRST` takes numbered steps until it is killed. `acts PATH FIRST` does what changes more than it adds: erases, forks,
undoes, imports, takes snapshots and repairs. `race PATH NAME COUNT SECONDS` appends that many messages.
"""

import json
import sys
import time
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pageturn as pt
from pageturn.apps.importing import Report, import_file
from pageturn.journal.repair import repair
from pageturn.stores import open_store

SESSION = "agent"

# What each step writes, by the tags of its entries; steps come round in this order.
_ENTRIES = {
    "say": ["message"],
    "read": ["message"],
    "compress": ["staged", "rendition", "committed"],
    "answer": ["message", "message", "turn"],
    "pin": ["message", "pin"],
    "guess": ["staged", "rejected"],
    "plan": ["message", "plan"],
    "remember": ["staged", "committed"],
    "prefer": ["staged", "message", "preference", "committed"],
    "checkpoint": ["boundary"],
}


def kind(number):
    return list(_ENTRIES)[number % len(_ENTRIES)]


def entries(number):
    return _ENTRIES[kind(number)]


def messages(number):
    """The messages that a step adds; those that are read or answered have words of more than 4 KiB."""
    match kind(number):
        case "say":
            return [pt.user(f"Überhaupt: step{number}")]
        case "read":
            return [pt.tool_result(f"call-{number}", _words(number, 1_000 + number % 7 * 1_000))]
        case "answer":
            return [
                pt.user(_words(number, 30)),
                pt.assistant(_words(-number, 800), usage=pt.Usage(input_tokens=number)),
            ]
        case "pin":
            return [pt.system(f"Never skip step{number}")]
        case "prefer":
            noted = f"<page>\nThe model noted a preference: Never skip step{number}\n</page>"
            return [pt.user(noted, synthetic=True)]
        case "plan":
            return [pt.system(_plan(number).text)]
    return []


def proposal(number, page):
    field, value = {
        "compress": ("compressed", f"all words of step{number}"),
        "guess": ("memory.guesses", number),
        "remember": ("memory.steps", number),
        "prefer": ("preference", f"Never skip step{number}"),
    }[kind(number)]
    evidence = () if kind(number) == "guess" else (page.handle,)
    return pt.Proposal(field=field, value=value, evidence=evidence, key=f"step {number}")


def take(session, number):
    """Take a step with one call."""
    match kind(number):
        case "say" | "read" | "answer":
            session.extend(messages(number))
        case "pin":
            session.pin(messages(number)[0].text)
        case "plan":
            session.plan(_plan(number))
        case "checkpoint":
            session.checkpoint()
        case _:
            session.write_back(proposal(number, session.reader.pages()[-1]))


def _plan(number):
    return pt.Plan(goal=f"finish step{number}", steps=("look", "leap"), current=number % 2)


def _words(number, length):
    return " ".join(f"é{number}.{at}" for at in range(length)) + f" step{abs(number)}"


def _steps(path, first):
    _tell("awake")
    session = pt.Session.open(path, id=SESSION)
    for number in count(int(first)):
        before = len(session.reader.pages())
        take(session, number)
        _tell([number, {page.handle: page.digest for page in session.reader.pages()[before:]}])


ACTS = ("say", "fork", "erase", "undo", "import", "checkpoint", "repair")


def act(path, session, number):
    """Do one of the acts; each says its number, so that it can be told afterwards which of them were done."""
    session.refresh()
    match ACTS[number % len(ACTS)]:
        case "say":
            session.extend([pt.user(f"say{number}"), pt.assistant(_words(number, 800))])
        case "fork":
            with suppress(pt.Conflict):  # killed before it could say so
                session.fork(f"fork{number}")
        case "erase":
            page = session.append(pt.user(f"secret{number} " + _words(number, 900)))
            _tell(["soon erased", page.handle])
            session.erase(page)
        case "undo":
            session.extend([pt.user(f"undone{number}"), pt.assistant("yes")])
            session.undo()
        case "import":
            log = Path(path).with_name(f"import{number}.json")
            said = [{"role": "user", "content": f"import{number}"}, {"role": "assistant", "content": "ok"}]
            log.write_text(json.dumps({"messages": said}))
            with closing(open_store(path)) as store:
                import_file(store, log, Report())
        case "checkpoint":
            session.append(pt.user(f"checkpoint{number}"))
            session.checkpoint()
        case "repair":
            with closing(open_store(path)) as store:
                repair(store)
            for copy in Path(path).parent.glob("*.before-repair-*"):
                copy.unlink()


def _acts(path, first):
    _tell("awake")
    session = pt.Session.open(path, id=SESSION)
    for number in count(int(first)):
        act(path, session, number)
        _tell([number, {}])


def _race(path, name, appends, seconds):
    _wait("awake")
    session = pt.Session.open(
        path, id=SESSION, wait_seconds=600
    )  # SQLite is not fair to who waits, less so on a busy machine
    _wait("open")
    deadline = time.monotonic() + float(seconds)
    conflicts = 0
    number = 0
    while number < int(appends) and time.monotonic() < deadline:
        try:
            page = session.append(pt.user(f"{name} {number}"))
        except pt.Conflict:
            conflicts += 1
            session.refresh()
        else:
            _tell([page.seq, f"{name} {number}"])
            number += 1
    _tell(conflicts)


def _wait(state):
    """Until all writers have come so far."""
    _tell(state)
    sys.stdin.readline()


def _tell(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    {"steps": _steps, "acts": _acts, "race": _race}[sys.argv[1]](*sys.argv[2:])
