import sqlite3

import psycopg2


def a(rows):
    db = sqlite3.connect("x.db")
    for row in rows:
        db.execute("INSERT INTO t VALUES (?)", row)  # expect: per-item-database-writes
        db.commit()  # expect: per-item-database-writes


class B:
    def __init__(self, dsn):
        self.connection = psycopg2.connect(dsn)
        self.cursor = self.connection.cursor()

    def put(self, key, value):
        self.cursor.execute("INSERT INTO t VALUES (%s, %s)", (key, value))
        self.connection.commit()

    def all(self, items):
        for key, value in items:
            self.put(key, value)  # expect: per-item-database-writes
