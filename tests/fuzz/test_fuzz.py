"""Inputs that are changed at random, over everything that takes bytes from outside; and those that once did harm.

`python -m tools.fuzz` does the same with an engine that looks at the branches that an input reaches.
"""

import random
from itertools import islice
from pathlib import Path

import pytest

from tests.fuzz.reporting import FUZZED
from tests.long import examples
from tools.fuzz_targets import TARGETS, Stage, Target
from tools.fuzzing import Findings, TooSlow, changed, inputs

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*"))
SLOW = {
    "store": 10,
    "command_line": 3,
    "session": 10,
    "import": 5,
    "recall_tool": 5,
    "gateway": 10,
    "mcp": 5,
    "unpack": 10,
}  # how much slower than the others


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_raises_what_is_not_ours_or_takes_too_long(name, record_property):
    findings = Findings(TARGETS[name])
    for data in islice(inputs(TARGETS[name], seed=7), examples(400, whole=150_000) // SLOW.get(name, 1)):
        findings.run(data)
    record_property(FUZZED, (name, findings.inputs, findings.parsed, findings.accepted, len(findings.crashes)))
    assert findings.crashes == {}
    assert findings.accepted > 0


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_did_harm_does_none(path):
    findings = Findings(TARGETS[path.name.partition("-")[0]])
    findings.run(path.read_bytes())
    assert findings.crashes == {}


@pytest.mark.parametrize("name", TARGETS)
def test_the_inputs_to_begin_with_are_accepted(name):
    target = TARGETS[name]
    stages = [target.run(data) for data in target.seeds()]
    assert Stage.ACCEPTED in stages
    assert stages.count(Stage.REFUSED) <= len(stages) / 2


def test_an_exception_that_is_not_ours_is_found_and_its_shortest_input_kept(tmp_path):
    def run(data):
        if b"7" in data:
            raise KeyError("seven")
        return Stage.ACCEPTED

    findings = Findings(Target("sevens", run, lambda: [b'{"a": [1, "b"]}']), tmp_path)
    for data in islice(inputs(findings.target, seed=1), 3_000):
        findings.run(data)
    ((place, data),) = findings.crashes.items()
    assert place.startswith("KeyError ")
    assert findings.times[place] >= 1
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == data
    assert findings.accepted < findings.inputs == 3_000


def test_an_input_that_takes_too_long_is_found(monkeypatch):
    monkeypatch.setattr("tools.fuzzing.SECONDS", 0.05)

    def run(data):
        while True:
            pass

    findings = Findings(Target("loop", run, list))
    findings.run(b"")
    assert [place.partition(" ")[0] for place in findings.crashes] == [TooSlow.__name__]


def test_a_change_is_repeatable_and_bounded():
    seed = b'{"a": [1, {"b": "text"}]}\n[2]'
    target = Target("json", lambda _data: Stage.ACCEPTED, lambda: [seed])
    made = [changed(seed, random.Random(number), target, most=500) for number in range(200)]
    assert made == [changed(seed, random.Random(number), target, most=500) for number in range(200)]
    assert max(map(len, made)) <= 500
    assert len(set(made)) > 100


def test_most_changes_get_past_the_first_parser_however_many_there_were():
    target = TARGETS["anthropic"]
    findings = Findings(target)
    for data in islice(inputs(target, seed=7), 20_000):
        findings.run(data)
    assert findings.parsed > 0.7 * findings.inputs
    assert findings.accepted > 0.08 * findings.inputs


def test_words_are_changed_as_words():
    target = Target("line", lambda _data: Stage.ACCEPTED, list, is_json=False, words=(b"new",))
    made = {changed(b"show\0STORE", random.Random(number), target) for number in range(200)}
    assert {b"new\0STORE", b"show", b"STORE", b"show\0show\0STORE", b"show\0STORE\0new"} <= made
