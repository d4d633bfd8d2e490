"""All at once, or together, or what only has such a name."""
import asyncio

import ollama
from openai import AsyncOpenAI

from models import Own


async def together(prompts):
    client = AsyncOpenAI()
    asked = [client.chat.completions.create(model="m", messages=[each]) for each in prompts]
    return await asyncio.gather(*asked)


def embedded(texts):
    own = Own()
    return ollama.embed(model="m", input=texts), [own.generate(text) for text in texts]
