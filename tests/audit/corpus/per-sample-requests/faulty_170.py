"""Clients are made by a parent that is not at hand: their calls speak for themselves."""
import httpx
from provider import Provider


class Embedder(Provider):
    def embed(self, texts):
        found = []
        for text in texts:
            answer = self.client.post(  # expect: per-sample-requests@note
                f"{self.url}/embed",
                json={"input": text},
                headers=self.headers(),
            )
            found.append(answer.json()["embedding"])
        return found

    async def embed_later(self, texts):
        found = []
        for text in texts:
            answer = await self.later.post(self.url, json={"input": text})  # expect: per-sample-requests@note
            found.append(answer.json())
        return found

    def failed(self, answer: httpx.Response):
        return answer.status_code != 200
