"""Asks the kubelet which pod uses which GPU, by its PodResources service (Kubernetes 1.20 and later).

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from flyball_agent.runs.environment import clean
from flyball_agent.runs.evidence import Pod

TIME_LIMIT_SECONDS = 1.0
RETRY_SECONDS = 60.0
"""A kubelet that fails is asked again after this time."""

_METHOD = "/v1.PodResourcesLister/List"
_MAX_ANSWER_BYTES = 16 * 1024**2  # kubelet's own limit (DefaultPodsResourcesMaxSize)
_REPLICA = re.compile(r"::\d+$")
"""NVIDIA's device plugin numbers the shares of a GPU: GPU-3f2a…::1."""

Pods = Mapping[str, tuple[Pod, ...]]
"""The pods of each device, by its id: mostly the UUID of a GPU or MIG instance."""


class PodResourcesFailed(Exception):
    """The kubelet does not answer. `denied`: for want of permission."""

    def __init__(self, text: str, *, denied: bool = False) -> None:
        super().__init__(text)
        self.denied = denied


class _Devices(Protocol):
    device_ids: Sequence[str]


class _Container(Protocol):
    name: str
    devices: Sequence[_Devices]


class _PodResources(Protocol):
    name: str
    namespace: str
    containers: Sequence[_Container]


class _Answer(Protocol):
    pod_resources: Sequence[_PodResources]


def list_pods(path: Path, time_limit_seconds: float = TIME_LIMIT_SECONDS) -> Pods:
    """Return the pods of all devices. Raise `PodResourcesFailed` if the kubelet does not answer in time."""
    import grpc  # noqa: PLC0415  only hosts with pods need it here, and importing it takes long

    if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        raise PodResourcesFailed(f"{path}: no permission", denied=True)
    options = [("grpc.max_receive_message_length", _MAX_ANSWER_BYTES), ("grpc.enable_http_proxy", 0)]
    try:
        with grpc.insecure_channel(f"unix:{path}", options) as channel:
            return parse_pods(channel.unary_unary(_METHOD, _as_it_is, _as_it_is)(b"", timeout=time_limit_seconds))
    except grpc.RpcError as error:
        raise PodResourcesFailed(f"{path}: {clean(str(error.details()).encode())}") from None


def parse_pods(answer: bytes) -> Pods:
    """Parse a ListPodResourcesResponse. Raise `PodResourcesFailed` if it is not one."""
    try:
        resources = cast("_Answer", _ANSWER.FromString(answer)).pod_resources
    except DecodeError:
        raise PodResourcesFailed("the answer of the kubelet is not valid") from None
    pods: dict[str, dict[Pod, None]] = {}
    for pod in resources:
        for container in pod.containers:
            named = Pod(*(clean(text.encode()) for text in (pod.namespace, pod.name, container.name)))
            for device in container.devices:
                for device_id in device.device_ids:
                    pods.setdefault(_REPLICA.sub("", device_id), {})[named] = None
    return {device: tuple(named) for device, named in pods.items()}


def _as_it_is(content: bytes) -> bytes:
    return content


def _message(file: descriptor_pb2.FileDescriptorProto, name: str, fields: Sequence[tuple[int, str, bool, str]]) -> None:
    """Add a message. A field is its number, name, whether it is repeated, and its message type; empty: a string."""
    kinds = descriptor_pb2.FieldDescriptorProto
    message = file.message_type.add(name=name)
    for number, field, repeated, type_name in fields:
        message.field.add(
            name=field,
            number=number,
            label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
            type=kinds.TYPE_MESSAGE if type_name else kinds.TYPE_STRING,
            type_name=f".v1.{type_name}" if type_name else None,
        )


def _answer_type() -> type[Message]:
    """Return the answer's message with the fields that are read. A generated module would add all of the service."""
    file = descriptor_pb2.FileDescriptorProto(name="flyball/pod_resources.proto", package="v1", syntax="proto3")
    _message(file, "ContainerDevices", [(2, "device_ids", True, "")])
    _message(file, "ContainerResources", [(1, "name", False, ""), (2, "devices", True, "ContainerDevices")])
    pod = [(1, "name", False, ""), (2, "namespace", False, ""), (3, "containers", True, "ContainerResources")]
    _message(file, "PodResources", pod)
    _message(file, "ListPodResourcesResponse", [(1, "pod_resources", True, "PodResources")])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("v1.ListPodResourcesResponse"))


_ANSWER = _answer_type()
