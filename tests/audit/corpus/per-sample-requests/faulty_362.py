"""Clients of served models that are handed on, lists of one, prompts, and answers that are asked for some more times."""

import importlib

from judges.base import Judge
from services import OpenAIService


class Marker(Judge):
    def __init__(self, metrics, model):
        self.metrics = metrics
        self.model = model
        self.replicate = importlib.import_module("replicate")

    def mark(self, answers):
        openai_service = OpenAIService(self.model)
        marks = {}
        for answer in answers:
            for metric in self.metrics:
                marks[metric.name, answer.number] = metric.score(answer, openai_service)  # expect: per-sample-requests@note
        return marks

    def draw(self, prompt, answers):
        drawn = []
        for number in range(answers):
            drawn.append(self._ask(prompt))  # expect: per-sample-requests
        return drawn

    def _ask(self, prompt):
        return "".join(self.replicate.run(self.model, input={"prompt": prompt}))


class Store:
    def __init__(self, embeddings, table):
        self.embeddings = embeddings
        self.table = table

    def fill(self, documents):
        rows = []
        for document in documents:
            vector = self.embeddings.embed_documents([document.text])[0]  # expect: per-sample-requests@note
            rows.append({"text": document.text, "vector": vector})
        self.table.add(rows)


def tell(generator, prompts):
    told = {}
    for prompt in prompts:
        told[prompt] = generator.generate(prompt)  # expect: per-sample-requests@note
    return told
