"""The run of a process in a Kubernetes pod: its job if it names one, else the pod."""

import re

from flyball_agent.runs.evidence import ProcessEvidence
from flyball_agent.runs.launchers import is_local
from flyball_agent.runs.ranks import rank_of

_ROLE = re.compile(r"-(?:master|worker|launcher|chief|leader)-\d+$")
"""Kubeflow's operators name the pods of a job after its replicas: JOB-worker-0."""

_ADDRESS = re.compile(r"^[0-9.]+$|:")


def by_kubernetes(evidence: ProcessEvidence) -> str:
    """Return the job that all its pods name alike, or the pod."""
    if not evidence.cgroup.pod_uid:
        return ""
    namespace, pod = pod_of(evidence)
    name = _master(evidence) or (_ROLE.sub("", pod) if pod else evidence.cgroup.pod_uid)
    return f"pod-{namespace}:{name}" if namespace else f"pod-{name}"


def pod_of(evidence: ProcessEvidence) -> tuple[str, str]:
    """Return namespace and name of the pod, from the kubelet or the usual variables of the downward API."""
    if evidence.pod is not None:
        return evidence.pod.namespace, evidence.pod.name
    environment = evidence.environment
    namespace = environment.get("POD_NAMESPACE") or environment.get("NAMESPACE", "")
    return namespace, environment.get("POD_NAME", "")


def _master(evidence: ProcessEvidence) -> str:
    """Return the job of the pod with rank 0, if the ranks are in several pods."""
    environment = evidence.environment
    address = environment.get("MASTER_ADDR", "")
    if not address or is_local(address) or "RANK" not in environment or rank_of(evidence)[1] < 2:
        return ""
    if _ADDRESS.search(address):
        return f"{address}:{environment.get('MASTER_PORT', '')}"
    return _ROLE.sub("", address.partition(".")[0])
