"""Benchmarks and tools are run by hand, so a renamed name would break them unseen; here at least each is imported."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# These run in environments of their own, where another library or a server is.
BESIDE_OTHERS = (
    "benchmarks/peers/",
    "benchmarks/adapters/",
    "benchmarks/gateway/litellm_router.py",
    "benchmarks/postgres.py",
)
PROGRAMS = [
    path.relative_to(ROOT)
    for folder in ("benchmarks", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name != "__main__.py" and not str(path.relative_to(ROOT)).startswith(BESIDE_OTHERS)
]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_can_be_imported(program):
    import_module(".".join(program.with_suffix("").parts).removesuffix(".__init__"))
