"""How much memory one very large tool result takes, all the way through."""

import subprocess
import sys
from pathlib import Path

import pytest

_SIZE = 40_000_000  # bytes; smaller blocks of memory are kept by the allocator, and would be counted twice
_MOST = 4.0  # times its size; 3.2 and 3.4 were measured, and 4.5 and 6.3 when it was copied wherever it went


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the most memory of a process")
@pytest.mark.parametrize("letters", ["ascii", "cjk"])
def test_a_large_result_takes_a_few_times_its_size(tmp_path, letters):
    command = [sys.executable, "-m", "tests.stores.large", str(tmp_path / "agent.db"), letters, str(_SIZE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert 0.5 < float(done.stdout) < _MOST
