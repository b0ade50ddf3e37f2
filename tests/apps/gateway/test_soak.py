"""Many clients for a while: a gateway takes no more memory and no more files for it, and answers everybody."""

import asyncio
import sys

import pytest

from benchmarks.gateway.soak import look, slope_of, soak
from benchmarks.gateway.subjects import provider, subject
from tests.long import examples, tell

CLIENTS = examples(32, whole=256)
SECONDS = examples(2, whole=600)
MEGABYTES = examples(60, whole=100)  # that a warm gateway may take in addition: its allocator's and its caches'


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.skipif(sys.platform != "linux", reason="memory and files are read from /proc")
def test_memory_and_files_stay_as_they_are_under_load(tmp_path):
    with provider(tmp_path) as upstream, subject("watch", upstream.url, tmp_path) as running:
        found = asyncio.run(soak(running.port, CLIENTS, SECONDS, lambda: look(running.pid)))
        idle = look(running.pid)[1]
    first, last = found.warm[0], found.warm[-1]
    minutes = slope_of([each.seconds for each in found.warm], [each.megabytes for each in found.warm]) * 60
    tell(f"{found.answers} answers, p99 {found.at(0.99):.0f} ms, {minutes:+.1f} MB a minute, {idle} files after it")
    assert found.failures == 0
    assert found.answers >= CLIENTS
    assert last.megabytes - first.megabytes < MEGABYTES
    assert (
        max(each.files for each in found.samples) < 3 * CLIENTS + 64
    )  # a client's, an upstream's, and what it has itself
    assert idle < 2 * CLIENTS + 64


def test_a_slope_is_that_of_the_line():
    assert slope_of([0, 1, 2, 3], [5, 7, 9, 11]) == pytest.approx(2.0)
