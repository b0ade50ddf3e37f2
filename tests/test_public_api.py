"""The public names: sorted, documented, complete, and loaded without effects."""

import inspect
import re
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.values import faults

ROOT = Path(__file__).parents[1]
NAMES = pt.__all__
MOST_NAMES = 60
MOST_MEMBERS = 32
FOLDERS = ("src", "tests", "benchmarks", "tools", "docs")


def test_the_names_are_sorted_and_unique():
    assert pt.__all__ == sorted(set(pt.__all__))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_documented(name):
    value = getattr(pt, name)
    assert value.__doc__
    assert value.__doc__ != getattr(type(value), "__doc__", None) or inspect.isfunction(value)


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(getattr(pt, name))])
def test_the_public_members_of_a_class_are_documented(name):
    kind = getattr(pt, name)
    if issubclass(kind, Enum):
        return
    fields = getattr(kind, "__struct_fields__", ())
    for member, value in vars(kind).items():
        if not member.startswith("_") and member not in fields and callable(getattr(value, "fget", value)):
            inherited = any(hasattr(base, member) for base in kind.__mro__[1:])
            assert inspect.getdoc(value) or inherited, f"{name}.{member}"


def test_every_fault_is_exported():
    own = {name for name, value in vars(faults).items() if inspect.isclass(value) and issubclass(value, pt.Fault)}
    assert own <= set(pt.__all__)


def test_there_are_few_enough_names_to_know_them():
    assert len(pt.__all__) <= MOST_NAMES
    assert {name for name in vars(pt) if name[0].isupper()} <= set(pt.__all__)


def test_a_session_has_few_enough_members_to_know_them():
    members = [name for name in dir(pt.Session) if not name.startswith("_")]
    assert len(members) <= MOST_MEMBERS, members


def test_a_reader_has_no_member_that_a_session_writes_with():
    reading = {"open", "close", "id", "plan"}  # which is the plan in force, and no call
    assert {name for name in dir(pt.Session) if name[0] != "_"} & set(dir(pt.SessionReader)) == reading


@pytest.mark.parametrize("folder", FOLDERS)
def test_nobody_reaches_into_a_session(folder):
    """Of its own parts an object may speak; those of another are private. A session has them all, by these names."""
    with pt.Session.open() as session:
        inside = "|".join(name for name in vars(session) if name.startswith("_"))
    reaching = re.compile(rf"(?<!self)\._journal\b|\b(?!self)\w*(?:session|summarizing|held|fork)\w*\.(?:{inside})\b")
    own = ROOT / "src" / "pageturn" / "session.py"
    files = [file for kind in ("*.py", "*.md") for file in (ROOT / folder).rglob(kind) if file != own]
    assert files
    found = [f"{file}: {line}" for file in files for line in file.read_text().splitlines() if reaching.search(line)]
    assert [line for line in found if "re.compile" not in line] == []


def test_nobody_reaches_through_a_member_of_a_session():
    """What lies behind `session.reader` and `session.summaries` is as private as the session is."""
    reaching = re.compile(r"\.(?:reader|summaries)\._[a-z]")
    found = [f"{file}: {line}" for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")
             for line in file.read_text().splitlines() if reaching.search(line)]  # fmt: skip
    assert found == []


def test_importing_loads_no_program_and_no_heavy_package():
    loaded = "import sys, pageturn; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    modules = set(
        subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not modules & {"click", "rich", "regex", "tiktoken", "splintr", "httpx2", "numpy", "asyncio", "socket"}
