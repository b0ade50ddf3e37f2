"""Store files that are kept beside the tests, and what they give when they are read.

`python -m tests.stores.written format-N.db` writes a file with some of everything in it, and beside it what is read from it. A new
format gets a new file, written by the version that brought it. `python -m tests.stores.written folded.db` writes a session that has
folded, with the bytes of its next context. Files that are there are never written again.
"""

import json
import random
import shutil
import sqlite3
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pageturn as pt
from pageturn.formats import openai_chat
from pageturn.stores import SqliteStore
from tests.sessions import Clock

FIXTURES = Path(__file__).parent / "fixtures"
SESSIONS = ("whole", "reset", "fork", "folded")
FOLDED = "folded"
SCOPES = {"reset": "garden"}
QUERIES = ("tulip", "SECRET", "carnation")


def opened(store, id, seed, **options):
    return pt.Session.open(store, id=id, clock=Clock(), entropy=random.Random(seed).randbytes, **options)


def step(session, number, lines=3):
    call = pt.ToolCall(id=f"k{number}", name="read", arguments=json.dumps({"path": f"src/m{number}.py"}))
    session.derive()
    body = "".join(f"def tulip_{number}_{at}(): return {at}\n" for at in range(lines))
    usage = pt.Usage(input_tokens=99)
    session.extend([pt.assistant(f"reading {number}", call, usage=usage), pt.tool_result(call, body)])


def write(path):
    """Messages, pins, plans, notes, summaries, proposals, faults, a fork, an erasure, an undo, a reset, beliefs."""
    store = SqliteStore(str(path))
    whole = opened(store, "whole", 1, policy=pt.Legacy(), model="gpt-5")
    whole.extend([pt.system("You mend gardens."), pt.user("Plant the tülips, and mind the carnation.")])
    whole.pin("Never dig at night.", structured="no digging at night")
    whole.plan("plant everything", ["dig", "plant"], 1)
    whole.prefer("short answers")
    whole.inject(pt.ContextMessage(key="weather", content="It rains.", target="session"))
    for number in range(3):
        step(whole, number)
    page = whole.append(pt.user("A long one: " + "carnation " * 600))
    whole.write_back(pt.Proposal(field="compressed", value="carnation, 600 times", evidence=(page.handle,), key="one"))
    whole.write_back(pt.Proposal(field="memory.beds", value={"north": 3}, evidence=(page.handle,)))
    whole.append(pt.assistant("noted"))
    whole.extend([pt.user("Dig it all up."), pt.assistant("I will")])
    whole.undo()
    whole.erase(whole.append(pt.user("The SECRET is here.")))
    whole.resolve("p1-aaaa")
    whole.append(pt.user("Go on."))

    reset = opened(store, "reset", 2, policy=pt.Reset(threshold_tokens=4_000), scope="garden")
    reset.extend([pt.system("Be brief."), pt.user("Count the tulips.")])
    for number in range(3):
        step(reset, number)
    reset.reset("There are nine tulips.", force=True)
    reset.grant("shed")
    reset.append(pt.user("And now the roses."))

    fork = whole.fork("fork")
    fork.append(pt.user("Another way."))
    fork.unpin(next(page for page in fork.reader.pages() if page.kind is pt.PageKind.CONSTRAINT))

    folded = opened(store, "folded", 3, policy=pt.Paged(budget_tokens=1_500))
    folded.extend([pt.system("Look closely."), pt.user("Read the modules.")])
    folded.pin("Never push.")
    for number in range(10):
        step(folded, number, lines=20)
    router = pt.Router.open(store, "garden", clock=Clock(), entropy=random.Random(4).randbytes)
    for _ in range(12):
        chosen = router.choose(["a", "b"])
        router.observe(chosen, chosen.choice == "a")
    for session in (whole, reset, fork, folded):
        session.derive()
        session.append(pt.assistant("done"))
        session.checkpoint()
    whole.append(pt.user("After the snapshot."))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()


def write_folded(path):
    """A session whose context was folded in a turn that was answered, and that went on after it."""
    store = SqliteStore(str(path))
    session = opened(store, FOLDED, 5, policy=pt.Paged(budget_tokens=2_400), model="gpt-5")
    session.extend([pt.system("Look closely."), pt.user("Read the modules of the garden.")])
    session.pin("Never push.")
    for number in range(11):
        step(session, number, lines=20)
    session.checkpoint()
    session.append(pt.user("Go on."))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()


def read_folded(path):
    """The next context of the session: the turns that folded, the level of each page, and its bytes."""
    store = SqliteStore(str(path))
    session = opened(store, FOLDED, 6)
    context = session.derive()
    turns = session.reader.turns()
    store.close()
    return {
        "folds": [turn.number for turn in turns if turn.shown is not None and turn.shown.fold is not None],
        "is_folded_now": context.fold is not None,
        "levels": [[placement.first, placement.last, str(placement.level)] for placement in context.layout.placements],
        "context": json.dumps(openai_chat.dump(context), ensure_ascii=False),
    }


def read(path):
    """What the sessions of a file give: their messages, faults and promises, and the bytes of the contexts that need no fold."""
    store = SqliteStore(str(path))
    read_back = {}
    for id in SESSIONS:
        session = pt.Session.open(store, id=id, scope=SCOPES.get(id))
        context = session.derive()
        plan = session.reader.plan
        read_back[id] = {
            "pages": [page.handle for page in session.reader.pages()],
            "messages": [json.loads(pt.to_json(message)) for message in session.reader.messages()],
            "plan": json.loads(pt.to_json(plan)) if plan else None,
            "notes": [note.key for note in session.reader.notes],
            "memory": session.reader.memory("beds"),
            "faults": [record.entry.fault.code for record in session.reader.faults()],
            "found": {
                query: sorted(hit.handle for hit in getattr(session.recall(query, 50), "hits", ())) for query in QUERIES
            },
        }
        if id != "folded":  # how pages are put shorter is not the file's business
            read_back[id]["context"] = json.dumps(openai_chat.dump(context)["messages"], ensure_ascii=False)
    store.close()
    return read_back


if __name__ == "__main__":
    file = Path(sys.argv[1])
    is_folded = file.stem == "folded"
    (write_folded if is_folded else write)(file)
    with TemporaryDirectory() as folder:  # what is looked for and not found is written down
        read_back = (read_folded if is_folded else read)(shutil.copy(file, Path(folder) / "agent.db"))
    file.with_suffix(".json").write_text(json.dumps(read_back, indent=1, ensure_ascii=False) + "\n")
