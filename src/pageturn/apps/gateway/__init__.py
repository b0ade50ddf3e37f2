"""The gateway: a proxy in front of the providers, so that any client can use Pageturn by changing its base URL.

From the wire inwards: `server` listens, `proxy` moves bytes and consults a `Mode`, `upstream` calls the provider. A mode sees
`Exchange` objects, which do no I/O. `Watch` is the mode that changes nothing and records what it saw.
"""
