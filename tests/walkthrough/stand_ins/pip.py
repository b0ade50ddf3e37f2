"""In place of `pip install`: everything is installed already, so it says only whether the names and extras exist."""

import sys
from importlib.metadata import metadata, version

for wanted in sys.argv[2:]:
    name, _, extras = wanted.rstrip("]").partition("[")
    known = metadata(name).get_all("Provides-Extra") or []
    unknown = [extra for extra in extras.split(",") if extra and extra not in known]
    if unknown or not version(name):
        sys.exit(f"{name} has no extra {unknown[0]}")
    print(f"{wanted} is installed")
