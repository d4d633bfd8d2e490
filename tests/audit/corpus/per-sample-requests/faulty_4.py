import json
import urllib.request

import aiohttp


def scores(sentences, endpoint):
    out = []
    for sentence in sentences:
        request = urllib.request.Request(endpoint, data=json.dumps({"input": sentence}).encode())
        with urllib.request.urlopen(request) as response:  # expect: per-sample-requests
            out.append(json.load(response)["score"])
    return out


async def one_after_the_other(session: aiohttp.ClientSession, urls):
    pages = []
    for url in urls:
        async with session.get(url) as reply:  # expect: per-sample-requests
            pages.append(await reply.json())
    return pages
