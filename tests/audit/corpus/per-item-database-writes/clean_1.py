import sqlite3


def save(path, rows):
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO metrics VALUES (?, ?)", rows)


def migrate(path, statements):
    """A schema, once."""
    connection = sqlite3.connect(path)
    for statement in ("CREATE TABLE a (x)", "CREATE TABLE b (y)"):
        connection.execute(statement)
    connection.commit()


def one_transaction(path, rows):
    """SQLite within one transaction: statements are cheap, only a commit is dear."""
    connection = sqlite3.connect(path)
    with connection:
        for row in rows:
            connection.execute("INSERT INTO metrics VALUES (?, ?)", row)
