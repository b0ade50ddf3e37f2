"""The proxies that we are measured beside, each in an environment of its own: `python -m benchmarks.gateway.environments`."""

import sys

from benchmarks.peers.environments import Environment

LITELLM = Environment("litellm-proxy", ("litellm[proxy]==1.106.2",))
HEADROOM = Environment("headroom-proxy", ("headroom-ai[proxy]==0.42.0",))

if __name__ == "__main__":
    for environment in (LITELLM, HEADROOM):
        environment.make()
        if environment.missing:
            print(f"skipped: {environment.missing}", file=sys.stderr)
