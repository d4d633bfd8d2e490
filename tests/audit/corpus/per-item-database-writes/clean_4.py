"""The like of that, which reads, or writes all at once, or is no database."""
import chromadb
import psycopg
from neo4j import GraphDatabase
from sqlalchemy import create_engine, select, text

from tables import words

engine = create_engine("postgresql://host/words")
driver = GraphDatabase.driver("bolt://host")


def read(found):
    with driver.session() as session, engine.begin() as connection:
        for word in found:
            session.run("MATCH (w:Word {name: $name}) RETURN w", name=word)
            connection.execute(select(words).where(words.c.word == word))


def write(texts, vectors, figures):
    collection = chromadb.Client().get_or_create_collection("texts")
    collection.add(ids=texts, embeddings=vectors)
    for figure in figures:
        figure.save()
        figures.add(figure)


COUNT = "SELECT count(*) FROM words WHERE word = %s"


def counted(tables, found):
    with psycopg.connect("host=here") as connection, connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT count(*) FROM {table}")
            cursor.execute("SELECT max(id) FROM " + table)
            cursor.execute(text("SELECT 1 FROM words WHERE word = :w"), {"w": table})
        for word in found:
            cursor.execute(COUNT, (word,))
