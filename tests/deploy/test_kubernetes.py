"""Tests of the manifest and the image for Kubernetes: they fit the settings and have only the rights they need."""

import tomllib
from pathlib import Path
from typing import Any

import yaml

from flyball_agent.settings import ENVIRONMENT_PREFIX, AgentSettings
from flyball_daemon.settings import load

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
MANIFEST = {each["kind"]: each for each in yaml.safe_load_all((FOLDER / "agent.yaml").read_text(encoding="utf-8"))}
POD: dict[str, Any] = MANIFEST["DaemonSet"]["spec"]["template"]["spec"]
(AGENT,) = POD["containers"]
MOUNTS = {mount["mountPath"]: mount for mount in AGENT["volumeMounts"]}
VOLUMES = {volume["name"]: volume for volume in POD["volumes"]}


def settings(tmp_path: Path) -> AgentSettings:
    """Load the settings as the agent does in the pod."""
    file = tmp_path / "agent.toml"
    file.write_text(MANIFEST["ConfigMap"]["data"]["agent.toml"], encoding="utf-8")
    environment = {each["name"]: each.get("value", "node-7") for each in AGENT["env"]}
    return load(AgentSettings, file=file, prefix=ENVIRONMENT_PREFIX, environment=environment).settings


def host_path(mount_path: str) -> str:
    """Return the folder of the host behind a mount."""
    return str(VOLUMES[MOUNTS[mount_path]["name"]]["hostPath"]["path"])


def test_the_settings_are_valid_and_complete(tmp_path: Path) -> None:
    """The agent accepts file and environment, uses TLS, and is named after its node."""
    found = settings(tmp_path)
    assert (found.host, found.root, found.proc_root, found.sys_root) == ("node-7", "/host", "/host/proc", "/host/sys")
    assert all(path.startswith("/etc/flyball/") for path in (found.tls.ca_file, found.tls.key_file))
    file = Path(AGENT["args"][1])
    assert (MOUNTS[str(file.parent)]["name"], file.name) == ("settings", "agent.toml")


def test_every_folder_that_the_agent_needs_is_mounted(tmp_path: Path) -> None:
    """Root, certificates, state, and the sockets of agent and kubelet are mounted where the settings expect them."""
    found = settings(tmp_path)
    assert host_path(found.root) == "/"
    folders = [found.state_directory, str(Path(found.socket_path).parent), str(Path(found.tls.key_file).parent)]
    folders.append(str(Path(found.probes.pod_resources_socket).parent))
    assert [host_path(folder) for folder in folders] == folders
    assert set(VOLUMES) == {mount["name"] for mount in AGENT["volumeMounts"]}


def test_only_state_and_socket_are_writable(tmp_path: Path) -> None:
    """The host is read-only, and mounts that are added later are seen."""
    found = settings(tmp_path)
    writable = {path for path, mount in MOUNTS.items() if not mount.get("readOnly")}
    assert writable == {found.state_directory, str(Path(found.socket_path).parent)}
    assert MOUNTS[found.root]["mountPropagation"] == "HostToContainer"


def test_the_pod_has_only_the_rights_that_it_needs() -> None:
    """The pod shares the host's process ids; it is not privileged, has one capability and no service account."""
    context = AGENT["securityContext"]
    assert POD["hostPID"] is True
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE"]}
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert "privileged" not in context
    assert POD["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostIPC"} & set(POD)
    assert "nvidia.com/gpu" not in AGENT["resources"]["limits"]


def test_labels_select_the_pods() -> None:
    """The DaemonSet selects its own pods."""
    spec = MANIFEST["DaemonSet"]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]


def test_the_image_has_the_version_and_the_command_of_the_project() -> None:
    """Image, wheel and entry point follow pyproject.toml."""
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dockerfile = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert AGENT["image"].endswith(f":{project['version']}")
    assert 'ENTRYPOINT ["flyball-agent"]' in dockerfile
    assert "flyball-agent" in project["scripts"]
    assert f"{project['name'].replace('-', '_')}-*.whl" in dockerfile
