"""A store in PostgreSQL: `postgresql://user@host/database`. Needs the extra `pageturn[postgres]`.

`store` is what implements the interface, over `connections`; the other files have the statements, one subject each.
"""

from pageturn.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
