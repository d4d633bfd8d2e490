"""Rows that save themselves, and stores of which nothing tells whose they are."""


def label(samples, model):
    for sample in samples:
        sample["label"] = model.predict(sample.path)
        sample.save()  # expect: per-item-database-writes@note


def embed(db, source, model, windows):
    for window in windows:
        db.insert_embedding(model(window), source, window)  # expect: per-item-database-writes@note


def train(self, statements):
    for statement in statements:
        self.storage.update(statement)  # expect: per-item-database-writes@note


def remember(collection, chunk):
    collection.add(ids=[chunk.id], documents=[chunk.text])  # expect: per-item-database-writes@note
