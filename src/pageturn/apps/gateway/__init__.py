"""The gateway: a proxy in front of the providers, so that any client can use Pageturn by its base URL.

From the wire inwards: `server` listens, `proxy` moves bytes and lets a `Mode` have a say, `upstream` asks the provider. Everything
that a mode sees is an `Exchange`, which does no I/O. `Watch` is the mode that changes nothing and writes down what it saw.
"""
