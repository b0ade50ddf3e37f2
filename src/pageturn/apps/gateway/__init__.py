"""The gateway: a proxy in front of the providers, so that any client can use Pageturn by changing its base URL.

From the outside in: `server` listens, `proxy` decides on each request, a `passage` moves the bytes between `downstream`, which is the
client's side, and `upstream`, which calls the provider, and consults a `Mode`. A mode sees `Exchange` objects, which do no I/O. `watch`
changes nothing and records what it saw, `manage` sends derived histories, and `recalling` also answers the recall tool. `reconcile` and
`sessions` decide which session a request belongs to.
"""
