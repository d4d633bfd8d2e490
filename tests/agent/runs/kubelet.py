"""A kubelet of ours that serves PodResources on a Unix socket."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc

SERVICE = "v1.PodResourcesLister"


def pod_resources(devices: Mapping[tuple[str, str, str], list[str]]) -> bytes:
    """Encode the answer for devices of containers, with fields that the agent ignores."""
    answer = b""
    for (namespace, pod, container), ids in devices.items():
        held = _field(1, b"nvidia.com/gpu") + b"".join(_field(2, each.encode()) for each in ids)
        inner = _field(1, container.encode()) + _field(2, held) + _field(3, b"\x01\x02")
        answer += _field(1, _field(1, pod.encode()) + _field(2, namespace.encode()) + _field(3, inner))
    return answer


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


@contextmanager
def serve(path: Path, answer: Callable[[], bytes]) -> Iterator[None]:
    """Serve the answer until the end of the block."""
    handler = grpc.unary_unary_rpc_method_handler(lambda _request, _context: answer())
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"List": handler}),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait()
