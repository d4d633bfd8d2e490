import sqlite3


def save(path, rows):
    connection = sqlite3.connect(path)
    cursor = connection.cursor()
    for name, value in rows:
        cursor.execute("INSERT INTO metrics VALUES (?, ?)", (name, value))  # expect: per-item-database-writes@warning
        connection.commit()  # expect: per-item-database-writes@warning
    connection.close()
