"""What is asked at once, together, or of nobody."""
import asyncio

import httpx
from provider import Provider


class Embedder(Provider):
    def embed(self, texts):
        answer = self.client.post(f"{self.url}/embed", json={"input": texts}, headers=self.headers())
        return answer.json()

    async def embed_later(self, texts):
        return await asyncio.gather(*(self.later.post(self.url, json={"input": text}) for text in texts))

    def labels(self, texts):
        found = []
        for text in texts:
            found.append(self.known.get(text, "none"))
        return found

    def failed(self, answer: httpx.Response):
        return answer.status_code != 200
