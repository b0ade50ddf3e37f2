"""Five stories of a new user: commands and code as the README and the docs give them, in that order, print what the transcripts have.

A command that the page does not give, or not in that place, fails. After a change that is meant: python -m tests.walkthrough
"""

import json
import os
from itertools import pairwise

import pytest

from tests.walkthrough.transcript import Guide
from tests.walkthrough.walked import STORIES, TOLD, walked

pytest.importorskip("uvicorn", reason="the gateway and the inspector are not installed")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the docs' commands are those of a Unix shell")
RULE = "Never push to main."


@pytest.mark.parametrize("name", [name for name in TOLD if name != "rule"])
def test_a_story_goes_as_its_transcript_says(name, tmp_path):
    told, _ = walked(name, tmp_path / "ada")
    assert told == (STORIES / f"{name}.txt").read_text("utf-8")


def test_the_rule_stands_in_every_request(tmp_path):
    told, provider = walked("rule", tmp_path / "ada")
    assert told == (STORIES / "rule.txt").read_text("utf-8")
    sizes = [len(json.dumps(body)) for body in provider.asked]
    assert sum(after < before for before, after in pairwise(sizes)) >= 3  # folds
    assert all(json.dumps(body).count(RULE) == 1 for body in provider.asked)


def test_every_transcript_is_a_story_and_is_replayed():
    assert {path.stem for path in STORIES.iterdir()} == set(TOLD)


def test_a_command_that_the_page_does_not_give_in_that_place_is_told(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n\n    pageturn one a.db    # first\n    pageturn two a.db\n")
    guide = Guide(page)
    with pytest.raises(AssertionError, match=r"page\.md does not give this command .*: pageturn one a$"):
        guide.command("pageturn one a")
    guide.command("pageturn two a.db")
    with pytest.raises(AssertionError, match=r"does not give this command after the one before: pageturn one a\.db"):
        guide.command("pageturn one a.db")
