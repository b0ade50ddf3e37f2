"""Another program that holds the write lock of a store: `python holder.py PATH BEGIN`, until a line comes. Knows only SQLite."""

import sqlite3
import sys

if __name__ == "__main__":
    path, begin = sys.argv[1:]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(begin)
    if not begin.startswith("BEGIN EXCLUSIVE"):  # a writer that has begun, and one that is about to
        db.execute("INSERT INTO sessions(number, id, key, created_at, parent_seq) VALUES (999999, 'held', x'00', 0, 0)")
    sys.stdout.write("held\n")
    sys.stdout.flush()
    sys.stdin.readline()
    db.execute("ROLLBACK")
    sys.stdout.write("let go\n")
    sys.stdout.flush()
