from pymongo import MongoClient


class MetricStore:
    def __init__(self, uri):
        self.metrics = MongoClient(uri)["training"]["metrics"]

    def write(self, step, name, value):
        self.metrics.insert_one({"step": step, "name": name, "value": value})


def train(model, loader, optimizer, store: MetricStore):
    for step, x in enumerate(loader):
        losses = model(x.cuda())
        sum(losses.values()).backward()
        optimizer.step()
        optimizer.zero_grad()
        for name in losses:
            store.write(step, name, step * 0.1)  # expect: per-item-database-writes@warning


def direct(uri, documents):
    collection = MongoClient(uri).results.predictions
    for document in documents:
        collection.update_one({"_id": document["_id"]}, {"$set": document}, upsert=True)  # expect: per-item-database-writes@warning
