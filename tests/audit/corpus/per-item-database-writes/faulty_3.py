import psycopg2
import redis
from sqlalchemy.orm import Session


def store(connection: psycopg2.extensions.connection, predictions):
    with connection.cursor() as cursor:
        for key, score in predictions:
            cursor.execute("UPDATE samples SET score = %s WHERE id = %s", (score, key))  # expect: per-item-database-writes


def cache(embeddings):
    client = redis.Redis()
    for key, vector in embeddings.items():
        client.set(key, vector.tobytes())  # expect: per-item-database-writes


def orm(engine, objects):
    with Session(engine) as session:
        for item in objects:
            session.add(item)
            session.commit()  # expect: per-item-database-writes
