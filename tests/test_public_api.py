"""The public names: sorted, documented, complete, and loaded without effects."""

import inspect
import subprocess
import sys
from enum import Enum

import pytest

import pageturn as pt
from pageturn import errors, faults, messages, policies

NAMES = [name for name in pt.__all__ if name != "Part"]


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


@pytest.mark.parametrize("module", [errors, faults, messages, policies])
def test_every_class_of_a_public_family_is_exported(module):
    own = {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__.startswith("pageturn") and not name.startswith("_")
    }
    assert own - {"Closed", "MessageFields", "Open"} <= set(pt.__all__)


def test_importing_loads_no_program_and_no_heavy_package():
    loaded = "import sys, pageturn; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    modules = set(
        subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not modules & {"click", "rich", "regex", "tiktoken", "splintr", "asyncio", "socket"}
