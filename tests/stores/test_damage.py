"""A store that something changed: its sessions give the same bytes, or say what is wrong. Nothing raw, and nothing else in silence."""

import random
from collections import Counter

import pytest

from tests.long import examples
from tests.stores import damaging, written

PARTS = 50
CHANGES = examples(150, whole=10_000) // PARTS


@pytest.fixture(scope="module")
def written_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "agent.db"
    written.write(path)
    return path


@pytest.fixture(scope="module")
def whole(written_file, tmp_path_factory):
    """What the sessions give before any change."""
    given = damaging.given(damaging.copied(written_file, tmp_path_factory.mktemp("whole") / "agent.db"))
    assert given["doctor"] == []
    assert not any(given[id].startswith(("error", "faults")) for id in written.SESSIONS)
    return given


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_change_of_the_file_is_harmless_or_told_and_a_repair_loses_nothing_that_is_whole(
    written_file, whole, tmp_path, part
):
    outcomes = Counter()
    for seed in range(part * CHANGES, (part + 1) * CHANGES):
        path = damaging.copied(written_file, tmp_path / f"{seed}.db")
        what = f"seed {seed}, {damaging.damage(path, random.Random(seed))}"
        before = damaging.given(path)
        for id in written.SESSIONS:
            is_told = before[id].startswith(("error: ", "faults: "))
            assert before[id] == whole[id] or is_told, f"{what}: {id} is another in silence"
            outcomes["told" if is_told else "same"] += 1
        if seed % 5:
            path.unlink()
            continue
        repaired = damaging.repaired(path)
        after = damaging.given(path)
        if not repaired.startswith("error: "):  # else pages of the file do not fit together, and it was left alone
            for id in written.SESSIONS:
                assert after[id] == whole[id] or before[id] != whole[id], f"{what}: {id} was whole before the repair"
            errors = [after[id] for id in written.SESSIONS if after[id].startswith("error: ")]
            # Only words that are gone for ever may be in the way.
            assert all("is a rule" in error or "blob" in error for error in errors), f"{what}: {errors}"
        for file in tmp_path.glob(f"{seed}.db*"):
            file.unlink()
    assert outcomes["same"]


ALTERED = "UPDATE {} SET {} = CAST({} || ' ' AS BLOB)"


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM snapshots"],
        ["UPDATE snapshots SET body = x'82a6'"],
        ["UPDATE snapshots SET body = x'ff' || substr(body, 2)"],
        ["UPDATE snapshots SET seq = seq - 1"],
        ["UPDATE snapshots SET body = (SELECT body FROM snapshots LIMIT 1)"],
        ["DELETE FROM refs", "DELETE FROM names", "DELETE FROM words_data", "DELETE FROM unindexed"],
        ["UPDATE records SET chain = zeroblob(32) WHERE seq = 3"],
        ["UPDATE sessions SET scope = 'elsewhere', key = x'00'"],
        ["UPDATE blobs SET digest = 'x' || digest"],
    ],
)
def test_what_can_be_worked_out_is_rebuilt(written_file, whole, tmp_path, statements):
    path = damaging.copied(written_file, tmp_path / "agent.db")
    damaging.execute(path, *statements)
    assert damaging.given(path)["doctor"] or statements == ["DELETE FROM snapshots"]
    assert not damaging.repaired(path).startswith("error")
    assert damaging.given(path) == whole
