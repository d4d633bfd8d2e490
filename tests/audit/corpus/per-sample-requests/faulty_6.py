import requests
import httpx
import openai
from concurrent.futures import ThreadPoolExecutor

client = openai.OpenAI()


def score(text):
    return client.chat.completions.create(model="m", messages=[{"content": text}]).choices[0]


def rewards(texts):
    return [score(text) for text in texts]  # expect: per-sample-requests


def a(model, loader, optimizer):
    for texts in loader:
        r = rewards(texts)
        loss = model(texts, r).mean()
        loss.backward()
        optimizer.step()


class Remote:
    def __init__(self, url):
        self.session = requests.Session()
        self.url = url

    def embed(self, items):
        out = []
        for item in items:
            with httpx.Client() as http:
                out.append(http.post(self.url, json=item).json())  # expect: per-sample-requests
            reply = self.session.get(f"{self.url}/{item}")  # expect: per-sample-requests
        return out


def pooled(texts):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(score, texts))
