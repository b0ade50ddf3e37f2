"""How much memory one very large tool result takes, all the way through."""

import subprocess
import sys
from pathlib import Path

import pytest

_SIZE = 40_000_000  # bytes; smaller blocks of memory are kept by the allocator, and would be counted twice
_MOST = 3.0  # times its size, beside the text that the host has; 1.9 to 2.5 were measured, and 3 to 22 when it was copied or counted whole


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the most memory of a process")
@pytest.mark.parametrize("shape", ["ascii", "cjk", "numbers", "json", "base64"])
def test_a_large_result_takes_a_few_times_its_size(tmp_path, shape):
    command = [sys.executable, "-m", "tests.stores.large", str(tmp_path / "agent.db"), shape, str(_SIZE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert 0.5 < float(done.stdout) < _MOST
