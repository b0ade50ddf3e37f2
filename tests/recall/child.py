"""Embeds a session in a process of its own, to be killed in the middle: `PATH BATCHES` says so before it hangs in the batch after those."""

import sys
import threading

from pageturn.recall.embedders import embed
from tests.recall.test_meaning import Topics


class Hanging(Topics):
    """An embedder that never comes back from a batch."""

    def __init__(self, batches):
        super().__init__()
        self.left = batches

    def embed(self, texts):
        if not self.left:
            print("hangs", flush=True)  # noqa: T201
            threading.Event().wait()
        self.left -= 1
        return super().embed(texts)


if __name__ == "__main__":
    embed(sys.argv[1], "s", Hanging(int(sys.argv[2])))
