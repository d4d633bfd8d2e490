"""Questions to large models and services, as their names tell: one for each text, chunk or answer."""

import requests
from clients import get_chat_completion
from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("all-mpnet-base-v2")


def judge(llm, pairs):
    return [llm.label(pair) for pair in pairs]  # expect: per-sample-requests@note


class Evaluator:
    def evaluate(self, query, document):
        return self.llm_provider(f"{query}: {document}")

    def evaluate_all(self, found):
        answers = []
        for query, document in found:
            answers.append(self.evaluate(query, document))  # expect: per-sample-requests@note
        return answers


def rate(client, batches):
    rated = []
    for batch in batches:
        rated.append(client.chat_completion([{"role": "user", "content": str(batch)}]))  # expect: per-sample-requests@note
    return rated


def again(self, prompt, count):
    answers = []
    for _ in range(count):
        answers.append(self.llm(prompt))  # expect: per-sample-requests@note
    return answers


def answers(generator, queries):
    return [generator.generate(query=each, table=None) for each in queries]  # expect: per-sample-requests@note


def parsed(self, passages, score):
    for passage in passages:
        self.model.parse(passage, response_format=score)  # expect: per-sample-requests@note


def vectors(chunks):
    for chunk in chunks:
        chunk["vector"] = encoder.encode(chunk["text"])  # expect: per-sample-requests@note


def own(texts):
    return [get_chat_completion(text) for text in texts]  # expect: per-sample-requests@note


def statuses(api, tweets):
    return [api.GetStatus(tweet.id) for tweet in tweets]  # expect: per-sample-requests@note


class Remote:
    def __call__(self, prompts):
        def ask(data):
            return self.retry(call_method=requests.post, url=self.url, json=data)

        return [ask({"prompt": prompt}) for prompt in prompts]  # expect: per-sample-requests@note
