import time

import requests


def download(url, path, attempts=5):
    """A loop of attempts, and one of pages: each needs the one before."""
    for attempt in range(attempts):
        try:
            answer = requests.get(url, timeout=60)
            answer.raise_for_status()
            break
        except requests.RequestException:
            time.sleep(2**attempt)
    path.write_bytes(answer.content)


def pages(url):
    items = []
    while url:
        page = requests.get(url, timeout=60).json()
        items += page["items"]
        url = page.get("next")
    return items


def wait_until_ready(url):
    while True:
        if requests.get(url, timeout=1).ok:
            return
        time.sleep(1)


def lookup(table, keys):
    cache = dict(table)
    return [cache.get(key) for key in keys]
