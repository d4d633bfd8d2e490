import httpx


class NodeService:
    """The tree's nodes live in another process."""

    def __init__(self, base_url):
        self._client = httpx.Client(base_url=base_url)

    def fetch(self, node_id):
        return self._client.get(f"/nodes/{node_id}").json()

    def update(self, node_id, delta):
        self._client.put(f"/nodes/{node_id}", json={"delta": delta}).raise_for_status()
