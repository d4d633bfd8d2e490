"""Connections come from functions and pools of the code; other databases and mappers wait just as long."""
import chromadb
import sqlite_utils
from neo4j import GraphDatabase
from peewee import CharField, Model
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import create_engine, insert

from tables import words

engine = create_engine("postgresql://host/words")
driver = GraphDatabase.driver("bolt://host")


class Row(Model):
    word = CharField()


class Store:
    def __init__(self):
        self._pool: AsyncConnectionPool | None = None

    async def _opened(self) -> AsyncConnectionPool:
        if self._pool is None:
            self._pool = AsyncConnectionPool("host=here")
        return self._pool

    async def write(self, rows):
        pool = await self._opened()
        async with pool.connection() as connection:
            async with connection.cursor() as cursor:
                for row in rows:
                    await cursor.execute("INSERT INTO words VALUES (%s)", (row,))  # expect: per-item-database-writes@warning


def of_vectors(texts, vectors):
    collection = chromadb.Client().get_or_create_collection("texts")
    for text, vector in zip(texts, vectors):
        collection.add(ids=[text], embeddings=[vector])  # expect: per-item-database-writes@note


def of_mappers(found):
    for word in found:
        Row.objects.create(word=word)  # expect: per-item-database-writes@note
        row = Row(word=word)
        row.save()  # expect: per-item-database-writes@note


def of_others(found, path):
    table = sqlite_utils.Database(path)["words"]
    with driver.session() as session, engine.begin() as connection:
        for word in found:
            table.insert({"word": word})  # expect: per-item-database-writes@note
            session.run("MERGE (w:Word {name: $name})", name=word)  # expect: per-item-database-writes@note
            connection.execute(insert(words).values(word=word))  # expect: per-item-database-writes@note
