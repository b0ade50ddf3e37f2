"""Random bytes that are the same in every run, since handles are random, and some take a token more than others."""

import os
from random import Random

if step := os.environ.get("STEP_OF_A_STORY"):
    os.urandom = Random(int(step)).randbytes
