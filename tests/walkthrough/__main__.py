"""Writes the transcripts again, after a change of what the docs say or the commands print: python -m tests.walkthrough [STORY ...]"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.walkthrough.walked import STORIES, TOLD, walked

for name in sys.argv[1:] or TOLD:
    with TemporaryDirectory(prefix="pageturn-") as folder:
        told, _ = walked(name, Path(folder) / "ada")
    (STORIES / f"{name}.txt").write_text(told, "utf-8")
