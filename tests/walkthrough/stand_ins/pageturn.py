"""The command `pageturn`; the inspector gets a free port, since other tests may have the usual one."""

import sys

from pageturn.__main__ import main

if sys.argv[1:2] == ["inspect"]:
    sys.argv += ["--port", "0"]
main()
