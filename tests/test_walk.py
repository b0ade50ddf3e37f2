"""One turn goes down through the rooms, and what calls up is known."""

import pytest

from tools import turn_picture, walk
from tools.pictures import FOLDER


@pytest.fixture(scope="module")
def steps():
    return {step.name: step for step in walk.one_turn()}


def test_the_rooms_of_a_turn(steps):
    assert list(steps) == ["append", "derive", "dump", "load_reply", "append the reply"]
    assert set(steps["append"].rooms) == {"session", "context", "journal", "tokens", "stores", "values"}
    assert set(steps["derive"].rooms) >= {"session", "context", "journal", "policies", "tokens", "values"}
    assert steps["dump"].rooms == steps["load_reply"].rooms == ("formats", "values")  # without a session
    assert "writeback" in steps["append the reply"].rooms  # a fold was made, and what is dirty goes first
    for step in steps.values():
        assert not {"apps", "lab", "testing", "routing", "recall"} & set(step.rooms)


def test_what_calls_up_was_passed_down_and_is_known(steps):
    kinds = {ascent.kind for step in steps.values() for ascent in step.ascents}
    assert kinds == set(walk.PASSED_DOWN)


def test_a_call_from_a_lower_room_into_a_higher_one_is_noticed(monkeypatch):
    monkeypatch.setattr(walk, "layers", lambda: [["values"], ["formats"], ["session"], ["context"], ["journal"]])
    step, _ = walk.Walk().step("dump", lambda: walk.openai_chat.dump([walk.pt.user("Hi.")]))
    assert any(ascent.kind[1] == "values" for ascent in step.ascents)


def test_rooms_are_the_layers_of_the_contract():
    rooms = [room for row in walk.layers() for room in row]
    package = {path.name.removesuffix(".py") for path in walk.PACKAGE.iterdir() if path.name[0] not in "_."}
    assert sorted(rooms) == sorted(package - {"py.typed"})


def test_the_picture_of_a_turn_is_what_would_be_drawn_today():
    drawn = (FOLDER / f"{turn_picture.NAME}.svg").read_text(encoding="utf-8")
    assert drawn == turn_picture.picture(), "run: make pictures"
