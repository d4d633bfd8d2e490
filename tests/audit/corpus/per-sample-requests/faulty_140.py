"""The loop over items lies behind another attempt, an awaited method, or what goes through a table or list itself."""

import time

import httpx
import requests


class Judge:
    def __init__(self, address):
        self.address = address
        self.service = httpx.AsyncClient(base_url=address)

    def mark(self, text):
        return requests.post(self.address, json={"text": text}).json()["mark"]

    def mark_all(self, texts):
        return list(map(self.mark, texts))  # expect: per-sample-requests@note

    def patient(self, texts):
        marks = []
        for text in texts:
            for attempt in range(5):
                try:
                    marks.append(self.mark(text))  # expect: per-sample-requests@note
                    break
                except OSError:
                    time.sleep(2**attempt)
        return marks

    def stubborn(self, texts):
        for text in texts:
            while True:
                try:
                    found = requests.get(self.address, params={"text": text})  # expect: per-sample-requests@note
                    break
                except OSError:
                    time.sleep(1)
            yield found.json()

    async def ask(self, text):
        answer = await self.service.post("/marks", json={"text": text})
        return answer.json()

    async def ask_all(self, texts):
        return [await self.ask(text) for text in texts]  # expect: per-sample-requests@note


def of_table(table, judge: Judge):
    table["length"] = table["text"].apply(measured)  # expect: per-sample-requests@note
    table["mark"] = table["text"].apply(lambda text: judge.mark(text))  # expect: per-sample-requests@note


def measured(text):
    return requests.get("http://measure.local", params={"text": text}).json()["length"]
