import redis
from pymongo import InsertOne, MongoClient


def cache(embeddings):
    client = redis.Redis()
    with client.pipeline() as pipe:
        for key, vector in embeddings.items():
            pipe.set(key, vector.tobytes())
        pipe.execute()


def bulk(uri, documents):
    collection = MongoClient(uri).results.predictions
    collection.insert_many(documents)
    collection.bulk_write([InsertOne(document) for document in documents])


def chunks(uri, documents, size=1000):
    collection = MongoClient(uri).results.predictions
    for start in range(0, len(documents), size):
        collection.insert_many(documents[start : start + size])
