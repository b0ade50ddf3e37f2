"""Real clients, from their own packages, in every mode: they solve what they solve without the gateway, and nobody refuses anything.

`make test-clients` installs and runs them; `make test` does not.
"""

import os

import pytest

from tests.clients.installed import version
from tests.clients.playing import DIRECT, PAUSE, Scene, play
from tests.clients.provider import Fault
from tests.clients.running import CLIENTS

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PAGETURN_CLIENTS"), reason="real clients: make test-clients"),
    pytest.mark.timeout(1200),
]
MODES = (DIRECT, "watch", "manage", "recall")
ROOM = 16_000  # tokens above what the client itself needs


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


@pytest.fixture(params=CLIENTS)
def client(request):
    if version(request.param) is None:
        pytest.skip(f"{request.param} is not installed: make test-clients")
    return request.param


def flags(mode):
    return ["--room", str(ROOM)] if mode in ("manage", "recall") else []


def require_good(outcome, mode):
    last = outcome.ended[-1]
    assert outcome.provider.refused == []
    assert outcome.is_solved, f"{last.code}: {last.out[-1500:]}\n{last.err[-1500:]}"
    assert last.code == 0, last.err[-1500:]
    if mode != DIRECT:
        kept = outcome.accounts
        assert kept is not None
        assert (kept.lost, kept.duplicated) == ([], [])
        if mode == "watch":  # where results are managed, large ones may be shown in short
            assert kept.changed == []


def test_walk(client, mode, tmp_path, told):
    outcome = told(play(client, mode, tmp_path, Scene(), flags(mode)))
    require_good(outcome, mode)
    assert len(outcome.provider.turns) >= 60


def test_resume(client, mode, tmp_path, told):
    outcome = told(play(client, mode, tmp_path, Scene(pages=30, pauses=True), flags(mode)))
    require_good(outcome, mode)
    assert any(turn.said.text == PAUSE for turn in outcome.provider.turns)


# Clients keep the newest reasoning behind a summary of theirs, which the vendor then drops.
COMPACTION = Scene(pages=40, compact_at=35_000, forgiven=("reasoning_prefix_changed", "reasoning_left_out"))
COMPACTIONS = {
    "claude": COMPACTION._replace(compact_at=100_000, pages=75, size=7_000),  # it takes no smaller one
    "opencode": COMPACTION._replace(compact_at=60_000),
    "qwen": COMPACTION._replace(compact_at=90_000),
    "pi": COMPACTION._replace(window=45_000),  # it makes a summary when it is told that the prompt is too long
}
# A client that sees small usage makes a summary at a smaller threshold, or where the gateway's shorter prompt is too long as well,
# at a step before the model recalls anything: what fails in a round that it does not see breaks off for it.
TOO_LONG_AGAIN = {9: Fault(is_too_long=True, times=2)}
MANAGED_COMPACTIONS = {
    "claude": COMPACTION._replace(compact_at=None, faults=TOO_LONG_AGAIN),
    "codex": COMPACTION._replace(compact_at=26_000),
    "opencode": COMPACTION._replace(compact_at=22_000),
    "qwen": COMPACTION._replace(compact_at=56_000),
    "pi": COMPACTION._replace(compact_at=None, faults=TOO_LONG_AGAIN),
}


def test_compaction(client, mode, tmp_path, told):
    scene = COMPACTIONS.get(client, COMPACTION) if mode in (DIRECT, "watch") else MANAGED_COMPACTIONS[client]
    outcome = told(play(client, mode, tmp_path, scene, flags(mode)))
    require_good(outcome, mode)
    assert any("END OF SUMMARY" in turn.said.text for turn in outcome.provider.turns)
    assert outcome.provider.faults == {}


def test_subagent(client, mode, tmp_path, told):
    outcome = told(play(client, mode, tmp_path, Scene(pages=20, delegated=True), flags(mode)))
    require_good(outcome, mode)
    if client != "pi":  # which has none
        assert any(turn.said.text == "I am a subagent." for turn in outcome.provider.turns)


def test_faults(client, mode, tmp_path, told):
    faults = {3: Fault(429, retry_after=1), 6: Fault(529), 9: Fault(cut=0.3), 12: Fault(cut=0.8), 15: Fault(500)}
    # Codex sends the reasoning of an answer that was cut, and not what it led to.
    scene = Scene(pages=24, faults=faults, forgiven=("reasoning_follower",) if client == "codex" else ())
    outcome = told(play(client, mode, tmp_path, scene, flags(mode)))
    require_good(outcome, mode)
    assert outcome.provider.faults == {}


def test_too_long(client, mode, tmp_path, told):
    """A provider that finds a prompt too long: the gateway sends a shorter one; without it most clients make a summary."""
    if client == "codex" and mode in (DIRECT, "watch"):
        pytest.skip("Codex gives up where its provider says so")
    scene = Scene(
        pages=24, faults={14: Fault(is_too_long=True)}, forgiven=("reasoning_prefix_changed", "reasoning_left_out")
    )
    outcome = told(play(client, mode, tmp_path, scene, flags(mode)))
    assert outcome.provider.refused == []
    assert outcome.is_solved
    assert outcome.provider.faults == {}
