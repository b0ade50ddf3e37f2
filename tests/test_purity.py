"""The pure rooms are checked: what no rule names is refused, too."""

import pytest

from tools.purity import ROOMS, ROOT, impurities

FILES = [file for room in ROOMS for file in (ROOT / "src" / "pageturn" / room).rglob("*.py")]


def test_the_pure_rooms_are_pure():
    assert len(FILES) > 100
    assert [str(each) for file in FILES for each in impurities(file)] == []


@pytest.mark.parametrize(
    "line",
    [
        *(f"import {name}" for name in "time random secrets os uuid io shutil tempfile urllib.request http ssl threading".split()),
        *(f"import {name}" for name in "sqlite3 socket asyncio subprocess locale getpass platform pathlib codecs".split()),
        "from urllib.request import urlopen",
        "from http.client import HTTPConnection",
        "from pathlib import Path",
        "from codecs import open",
        "def f():\n    import os",
        "from datetime import UTC, datetime\nNOW = datetime.now(UTC)",
        "import datetime\nNOW = datetime.datetime.now()",
        "from datetime import date\nTODAY = date.today()",
        "text = open('x').read()",
        "read = open",
        "name = input()",
    ],
)  # fmt: skip
def test_what_is_impure_is_found(line, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(line + "\n")
    assert len(list(impurities(module))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from datetime import UTC, datetime\nEPOCH = datetime(1970, 1, 1, tzinfo=UTC)",
        "from pathlib import PurePosixPath",
        "from urllib.parse import urlsplit",
        "import pageturn.values.json",
        "class Price:\n    input: float = 0.0",
    ],
)
def test_what_is_pure_is_not(line, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(line + "\n")
    assert list(impurities(module)) == []
