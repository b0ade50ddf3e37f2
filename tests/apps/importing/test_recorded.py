"""Logs that were recorded in the wild, and what is known to be in each of them."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from pageturn.stores import MemoryStore
from tests.apps.importing.taking import heads, journal, messages, roles, take, usages

REPOSITORY = Path(__file__).parents[3]
DATA = Path(os.environ.get("PAGETURN_DATA") or REPOSITORY.parent / "shared" / "data")
NATIVE = DATA / "native"
FILES = sorted(path for path in NATIVE.rglob("*") if path.is_file())

pytestmark = pytest.mark.skipif(not FILES, reason=f"there are no recorded sessions in {NATIVE}; set PAGETURN_DATA")


class Told(NamedTuple):
    """A session: its messages by role, its calls, their results, and how many of those are errors."""

    roles: str
    calls: int = 0
    results: int = 0
    errors: int = 0
    usage: tuple[int, int] = (0, 0)  # input and output tokens, over all turns


# Sessions in the order of their length, the longest first.
EXPECTED = {
    "claude-code/missing-results.cc-entire-d3700617bc.jsonl": [
        Told("user 8, assistant 59, tool 55", 56, 55, 2, (641 + 3_334_164 + 423_539, 1_992)),
        Told("user 1, assistant 9, tool 14", 14, 14, 1, (286_930, 14)),
    ],
    "claude-code/multi-compaction.cc-entire-ae25a1fe5c.jsonl": [
        Told("user 20, assistant 227, tool 209", 209, 209, 4, (1_856 + 24_145_928 + 573_692, 47_196)),
    ],
    "claude-code/one-compaction.cc-entire-4bc78a140b.jsonl": [
        Told("user 11, assistant 121, tool 111", 111, 111, 1, (988 + 13_334_692 + 643_423, 25_080)),
    ],
    "claude-code/one-compaction.cc-entire-814fb0a80a.jsonl": [
        Told("user 5, assistant 121, tool 136", 137, 136, 5, (141 + 13_313_773 + 188_608, 1_323)),
        Told("user 1, assistant 5, tool 11", 11, 11, 0, (164_361, 8)),
    ],
    "claude-code/short.cc-entire-ccba085f64.jsonl": [
        Told("user 10, assistant 22, tool 31", 31, 31, 2, (620 + 909_116 + 103_404, 89)),
    ],
    "claude-code/short.cc-entire-df8eebb9a5.jsonl": [
        Told("user 2, assistant 22, tool 20", 20, 20, 4, (158 + 771_366 + 24_688, 6_012)),
    ],
    "claude-code/subagents.cc-entire-6ac62baddd.jsonl": [
        Told("user 2, assistant 34, tool 44", 44, 44, 3, (38 + 1_380_554 + 39_732, 6_874)),
        Told("user 1, assistant 12, tool 22", 22, 22, 4, (353_693, 19)),
    ],
    "claude-code/subagents.cc-entire-dfdca47d46.jsonl": [
        Told("user 2, assistant 48, tool 53", 53, 53, 0, (54 + 2_215_183 + 65_807, 839)),
        Told("user 1, assistant 20, tool 36", 36, 36, 0, (840_672, 215)),
        Told("user 1, assistant 6, tool 15", 15, 15, 0, (200_943, 12)),
    ],
    "codex-rollout/compacted.sb-9e3e0d6c6e.jsonl": [
        Told("system 1, developer 1, user 6, assistant 145, tool 221", 221, 221, 0, (17_950_159, 71_711)),
    ],
    "codex-rollout/compacted.sb-fb4574b9c6.jsonl": [
        Told("system 1, developer 1, user 9, assistant 121, tool 210", 210, 210, 0, (14_588_041, 79_227)),
    ],
    "codex-rollout/plain.sb-5eac2f306d.jsonl": [
        Told("system 1, developer 1, user 2, assistant 6, tool 15", 15, 15, 0, (303_814, 2_397)),
    ],
    "codex-rollout/plain.sb-f3d99e993f.jsonl": [
        Told("system 1, developer 1, user 4, assistant 17, tool 25", 25, 25, 0, (987_530, 12_111)),
    ],
    "opencode-export/sb-010daf3ca4.json": [
        Told("user 2, assistant 10, tool 16", 16, 16, 0, (48_176 + 224_581, 3_708)),
    ],
    "opencode-export/sb-0cae801545.json": [Told("user 1, assistant 3, tool 14", 14, 14, 0, (22_675 + 4_953, 3_133))],
    "opencode-export/sb-fa1bddfa07.json": [
        Told("user 1, assistant 12, tool 16", 16, 16, 0, (24_268 + 168_320, 1_865 + 5_685)),
    ],
    "gemini-cli-chat/sb-8aafcf35ac.json": [Told("user 3, assistant 10, tool 10", 10, 10, 0, (248_924, 2_478 + 989))],
    "gemini-cli-chat/sb-ba73e5a8c0.json": [Told("user 3, assistant 10, tool 7", 7, 7, 0, (302_353, 1_301 + 2_433))],
    "gemini-cli-chat/sb-cb5f8d64cb.json": [
        Told("user 4, assistant 38, tool 40", 40, 40, 2, (1_658_567, 5_317 + 6_984)),
    ],
    "pi-openclaw/before-compaction.jsonl": [  # 55 of a person, 3 commands that it ran, 2 summaries
        Told("user 60, assistant 471, tool 448", 454, 448, 12, (3_689 + 54_693_675 + 1_685_320, 187_895)),
    ],
    "pi-openclaw/large-session.jsonl": [
        Told("user 88, assistant 439, tool 373", 391, 373, 19, (1_049 + 43_229_469 + 4_296_232, 83_156)),
    ],
    "anthropic-messages/cc-entire-23d124750e.json": [Told("user 6, assistant 53, tool 51", 51, 51, 6)],
    "anthropic-messages/cc-entire-2dc561853e.json": [Told("user 3, assistant 20, tool 17", 17, 17, 1)],
    "anthropic-messages/cc-entire-624b2c0cb4.json": [Told("user 5, assistant 43, tool 40", 40, 40, 1)],
    "openhands/multi_swe_bench_output.jsonl": [
        Told("system 1, user 2, assistant 49, tool 49", 49, 49, 12, (938_015, 5_627)),
        Told("system 1, user 2, assistant 33, tool 32", 33, 32, 2, (410_169, 5_156)),
        Told("system 1, user 1, assistant 23, tool 22", 23, 22, 5, (565_158, 2_558)),
    ],
    "swe-agent-traj/1a8c29.marshmallow-code__marshmallow-1867.traj": [Told("system 1, user 14, assistant 14")],
    "swe-agent-traj/80e4f2.marshmallow-code__marshmallow-1867.traj": [
        Told("system 1, user 1, assistant 11, tool 11", 11, 11)
    ],
    "swe-agent-traj/8def3f.function_calling_simple.traj": [Told("system 1, user 1, assistant 5, tool 5", 5, 5)],
    "tau-bench/gpt-4o-airline.first5.json": [
        Told("system 1, user 11, assistant 30, tool 20", 20, 20),
        Told("system 1, user 8, assistant 15, tool 8", 8, 8),
        Told("system 1, user 7, assistant 12, tool 6", 6, 6),
        Told("system 1, user 5, assistant 11, tool 7", 7, 7),
        Told("system 1, user 6, assistant 5"),
    ],
}
WITHOUT_RESULT = {
    "claude-code/missing-results.cc-entire-d3700617bc.jsonl": 1,
    "claude-code/one-compaction.cc-entire-814fb0a80a.jsonl": 1,
    "pi-openclaw/before-compaction.jsonl": 6,
    "pi-openclaw/large-session.jsonl": 18,
    "openhands/multi_swe_bench_output.jsonl": 2,
}
COMPACTIONS = {
    "claude-code/multi-compaction.cc-entire-ae25a1fe5c.jsonl": 2,
    "claude-code/one-compaction.cc-entire-4bc78a140b.jsonl": 1,
    "claude-code/one-compaction.cc-entire-814fb0a80a.jsonl": 1,
    "codex-rollout/compacted.sb-9e3e0d6c6e.jsonl": 1,
    "codex-rollout/compacted.sb-fb4574b9c6.jsonl": 1,
    "pi-openclaw/before-compaction.jsonl": 2,
}
known_file = pytest.mark.parametrize("name", EXPECTED)


def told(store, session):
    pages = journal(store, session).state.pages
    taken = [usage for usage in usages(store, session) if usage is not None]
    results = [result for page in pages for result in page.results]
    return Told(
        roles={role: count for role, count in roles(store, session).items() if count},
        calls=sum(len(page.calls) for page in pages),
        results=len(results),
        errors=sum(result.is_error for result in results),
        usage=(sum(usage.input_tokens for usage in taken), sum(usage.output_tokens for usage in taken)),
    )


def expected(name):
    for each in EXPECTED[name]:
        counted = dict(item.split() for item in each.roles.split(", "))
        yield each._replace(roles={role: int(count) for role, count in counted.items()})


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(NATIVE)))
def test_every_file_is_taken_or_refused_without_an_exception_and_once(path):
    store = MemoryStore()
    first, again = take(store, path), take(store, path)
    assert first.tools.total() + len(first.failed) == 1
    assert (again.messages, again.known) == (0, first.messages)
    assert set(first.failed.values()) <= {"not a recorded session of a known tool"}


@known_file
def test_what_is_known_to_be_in_a_file_is_taken(name):
    store = MemoryStore()
    report = take(store, NATIVE / name)
    longest_first = sorted(heads(store), key=lambda session: -len(journal(store, session).state.pages))
    assert [told(store, session) for session in longest_first] == list(expected(name))
    assert report.messages == sum(sum(each.roles.values()) for each in expected(name))
    assert report.calls == sum(each.calls for each in EXPECTED[name])
    assert report.results == sum(each.results for each in EXPECTED[name])
    assert report.compactions == COMPACTIONS.get(name, 0)
    assert "broken line" not in report.skipped
    assert "message not understood" not in report.skipped


@known_file
def test_calls_and_results_belong_together(name):
    store = MemoryStore()
    take(store, NATIVE / name)
    unanswered = 0
    for session in heads(store):
        open_calls = Counter()
        for page in journal(store, session).state.pages:
            open_calls.update(call.id for call in page.calls)
            for result in page.results:
                assert open_calls[result.call] > 0, "a result comes after its call"
                open_calls[result.call] -= 1
        unanswered += open_calls.total()
    assert unanswered == WITHOUT_RESULT.get(name, 0)


@pytest.mark.parametrize("name", [name for name in COMPACTIONS if not name.startswith("codex")])
def test_every_readable_summary_becomes_a_rendition(name):
    store = MemoryStore()
    take(store, NATIVE / name)
    opened = max((journal(store, session) for session in heads(store)), key=lambda each: len(each.state.pages))
    assert len(opened.state.renditions) == COMPACTIONS[name]
    assert len(opened.state.pages) == sum(next(expected(name)).roles.values())  # the history stays


@pytest.mark.parametrize("name", [name for name in COMPACTIONS if name.startswith("codex")])
def test_an_encrypted_summary_is_told_and_left_out(name):
    store = MemoryStore()
    assert take(store, NATIVE / name).skipped["encrypted summary, readable only by its vendor"] == 1
    assert all(journal(store, session).state.renditions == [] for session in heads(store))


def test_the_harness_speaks_where_it_is_known_to():
    store = MemoryStore()
    take(store, NATIVE / "claude-code/missing-results.cc-entire-d3700617bc.jsonl")
    main = max(heads(store), key=lambda session: len(journal(store, session).state.pages))
    said = [message for message in messages(store, main) if message.role == "user"]
    assert Counter(message.synthetic for message in said) == {False: 5, True: 3}
