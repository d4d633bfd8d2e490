"""Clients that are kept with what asks them, lists of all texts, and prompts that are handed over together."""

import importlib

from metrics import Relevance, register


def metrics_of(names, openai_service):
    found = []
    for name in names:
        register(name, openai_service)
        found.append(Relevance(name, openai_service))
    return found


def fill(embeddings, table, documents):
    vectors = embeddings.embed_documents([each.text for each in documents])
    table.add([{"text": each.text, "vector": vector} for each, vector in zip(documents, vectors)])


def tell(generator, questions):
    prompts = [f"Answer shortly: {question}" for question in questions]
    return generator.generate(prompts)


def load(names):
    return {name: importlib.import_module(name) for name in names}
