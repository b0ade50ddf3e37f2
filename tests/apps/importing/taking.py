"""Imports for tests: files taken into a store, and what is there afterwards."""

import json
from collections import Counter
from pathlib import Path

from pageturn.apps.importing import Report, files_in, import_file
from pageturn.journal.journal import Journal
from pageturn.values.entries import TurnTaken

SAMPLES = Path(__file__).parent / "samples"


def take(store, *paths, **options):
    """Import files and folders; the report of it."""
    report = Report()
    for file in list(files_in(map(Path, paths), report)):
        import_file(store, file, report, **options)
    return report


def journal(store, session):
    found = Journal.open(store, session)
    assert found is not None, f"no session {session!r}"
    return found


def messages(store, session):
    opened = journal(store, session)
    return [opened.message(page) for page in opened.state.pages]


def words(store, session):
    """What was said, in order: texts, and what results hold."""
    return [
        message.text or "".join(part.text for result in message.tool_results for part in result.parts)
        for message in messages(store, session)
    ]


def ids(store, session):
    return [page.id for page in journal(store, session).state.pages]


def roles(store, session):
    return Counter(str(page.role) for page in journal(store, session).state.pages)


def all_roles(store):
    """The roles of the messages of every session; of those that a harness wrote, under the name "synthetic" too."""
    pages = [page for row in store.sessions() for page in journal(store, row.id).state.pages]
    return Counter([str(page.role) for page in pages] + ["synthetic" for page in pages if page.synthetic])


def usages(store, session):
    """What each turn took."""
    return [entry.usage for _, entry in journal(store, session).entries() if isinstance(entry, TurnTaken)]


def heads(store):
    """How many entries each session has."""
    return {row.id: row.head for row in store.sessions()}


def write_lines(path, lines):
    """A file of lines: objects become JSON, texts stay what they are."""
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def said(number, text, **more):
    """What a person said, as Claude Code writes it."""
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": message, **more}


def answered(number, response, block, **more):
    """One block of a response, as Claude Code writes it."""
    message = {
        "id": response,
        "role": "assistant",
        "model": "m",
        "content": [block],
        "usage": {"output_tokens": number},
    }
    return {"type": "assistant", "uuid": f"a{number}", "sessionId": "s", "message": message, **more}


def text(words_):
    return {"type": "text", "text": words_}


def call(id_):
    return {"type": "tool_use", "id": id_, "name": "bash", "input": {}}


def result(number, id_):
    return said(number, [{"type": "tool_result", "tool_use_id": id_, "content": f"result of {id_}"}])


def chat(*texts):
    return [{"role": "user", "content": each} for each in texts]
