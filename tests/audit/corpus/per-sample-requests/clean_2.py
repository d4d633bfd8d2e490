import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import requests


async def together(urls):
    async with httpx.AsyncClient() as client:
        return await asyncio.gather(*(client.get(url) for url in urls))


def pooled(urls):
    with requests.Session() as session, ThreadPoolExecutor(16) as pool:
        return list(pool.map(session.get, urls))


def submitted(urls):
    with ThreadPoolExecutor(16) as pool:
        return [future.result() for future in [pool.submit(requests.get, url) for url in urls]]


async def tasks(urls):
    async with httpx.AsyncClient() as client, asyncio.TaskGroup() as group:
        for url in urls:
            group.create_task(client.get(url))
