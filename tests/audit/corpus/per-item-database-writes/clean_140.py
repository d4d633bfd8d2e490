"""One transaction around all rows, and sessions that are told of objects and asked once."""

import sqlite3

from sqlalchemy.orm import Session

INSERT = "INSERT INTO rows VALUES (?, ?)"


class Store:
    def __init__(self, path):
        self.connection = sqlite3.connect(path)

    def add_all(self, rows):
        with self.connection:
            for row in rows:
                self.connection.execute(INSERT, row)

    def add_many(self, groups):
        with self.connection as connection:
            connection.executemany(INSERT, groups)


def add_all(rows, session: Session):
    for row in rows:
        session.add(row)
    session.flush()
    session.commit()
