"""SQLite's own context commits at its end; a session that merges or flushes asks for each object."""

import sqlite3

from sqlalchemy.orm import Session

INSERT = "INSERT INTO rows VALUES (?, ?)"


class Store:
    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(path)

    def add(self, row):
        with self.connection:
            self.connection.execute(INSERT, row)

    def add_all(self, rows):
        for row in rows:
            self.add(row)  # expect: per-item-database-writes@warning

    def anew(self, rows):
        for row in rows:
            with sqlite3.connect(self.path) as connection:
                connection.execute(INSERT, row)  # expect: per-item-database-writes@warning


def merge_all(rows, session: Session):
    for row in rows:
        session.merge(row)  # expect: per-item-database-writes@note
    session.commit()


def number_all(rows, session: Session):
    for row in rows:
        session.add(row)
        session.flush()  # expect: per-item-database-writes@note
    session.commit()
