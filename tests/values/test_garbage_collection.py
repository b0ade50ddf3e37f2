"""Holding the garbage collector back leaves it as it was."""

import gc

import pytest

from pageturn.values.garbage_collection import without_garbage_collection


@pytest.fixture(autouse=True)
def _as_it_was():
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


def test_it_is_held_back_and_goes_on_afterwards():
    gc.enable()
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    gc.enable()
    with pytest.raises(ZeroDivisionError), without_garbage_collection():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_host_that_switched_it_off_keeps_it_off():
    gc.disable()
    with without_garbage_collection():
        pass
    assert not gc.isenabled()
