"""Random sessions under every policy, model and recall: no law is broken. `make test-long` plays more than 20,000 of them."""

import pytest

from tests.laws.acts import plot
from tests.laws.driver import Driver
from tests.laws.shrinking import shrunk
from tests.laws.tally import TOTAL
from tests.long import examples

_BLOCK = 50
_BLOCKS = examples(5, whole=410)


@pytest.mark.long
@pytest.mark.parametrize("block", range(_BLOCKS))
def test_no_law_is_broken(block):
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        driver = Driver(plot(seed))
        driver.play()
        TOTAL.add(driver.tally)
        if driver.violations:
            first = driver.violations[0]
            pytest.fail(f"{first}\n{shrunk(plot(seed), first.law)}")
