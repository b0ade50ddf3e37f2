"""A store may be closed while another thread reads or writes it: that thread gets an error of ours, and the process goes on."""

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
import threading

import pageturn as pt
from pageturn.stores import MemoryStore, open_store

path = sys.argv[1]
unexpected = []

def read(store, begun):
    try:
        while True:
            store.session("s")
            store.erasures()
            [*store.records("s")]
            store.search([], "word", 5)
            begun.set()
    except pt.StoreError:
        pass
    except BaseException as error:
        unexpected.append(repr(error))

for round in range(150):
    store = MemoryStore() if path == "memory" else open_store(path)
    with pt.Session.open(store, id="s") as session:
        session.append(pt.user(f"word {round}"))
    begun = [threading.Event() for _ in range(3)]
    threads = [threading.Thread(target=read, args=(store, each)) for each in begun]
    for thread in threads:
        thread.start()
    for each in begun:
        each.wait()
    store.close()
    for thread in threads:
        thread.join()
assert not unexpected, unexpected[:3]
print("closed")
"""


@pytest.mark.parametrize("where", ["memory", "file"])
def test_closing_while_others_read_ends_in_an_error_of_ours(tmp_path, where):
    path = where if where == "memory" else str(tmp_path / "agent.db")
    done = subprocess.run([sys.executable, "-c", _PROGRAM, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr[-2_000:]
