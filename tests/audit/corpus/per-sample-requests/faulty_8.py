"""Clients come from functions of the code, and from kits of many services."""
import litellm
import ollama
from openai import AsyncOpenAI


class Judge:
    def __init__(self):
        self._client = None

    def _get_client(self):
        if self._client is None:
            import anthropic

            self._client = anthropic.Anthropic()
        return self._client

    def judge(self, answers):
        client = self._get_client()
        for answer in answers:
            client.messages.create(model="m", messages=[{"role": "user", "content": answer}])  # expect: per-sample-requests@note


async def one_after_the_other(prompts):
    client = AsyncOpenAI()
    for prompt in prompts:
        await client.chat.completions.create(model="m", messages=[prompt])  # expect: per-sample-requests@note


def embedded(texts):
    vectors = [ollama.embed(model="m", input=text) for text in texts]  # expect: per-sample-requests@note
    return vectors, [litellm.completion(model="m", messages=[text]) for text in texts]  # expect: per-sample-requests@note
