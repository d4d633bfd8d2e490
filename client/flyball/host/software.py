"""Systems, drivers and libraries of this machine. Packages are looked up, never imported."""

import platform
import re
from importlib import metadata, util
from pathlib import Path

from flyball.host.card_readings import MachineCards
from flyball.host.hardware_parts import HostGpu, HostSoftware
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball_agent.probes.files import entries, read_text
from flyball_proto.v1 import telemetry_pb2 as pb

PACKAGES = ("torch", "transformers", "accelerate", "lightning", "deepspeed", "flash-attn", "bitsandbytes", "pymongo")
"""Packages whose versions matter to a training."""

REASONS = {
    "operating_system": "the system has no os-release file",
    "kernel": "the kernel does not report it",
    "nvidia_driver": "the NVIDIA driver is not loaded",
    "cuda_version": "the NVIDIA driver is not loaded",
    "torch_build": "PyTorch is not installed in this environment",
    "rocm_version": "ROCm is not installed in /opt/rocm",
    "metal": "Metal exists only on macOS",
}
_NVIDIA_VERSION = re.compile(r"\b(\d{3,4}\.\d+(?:\.\d+)?)\b")
_BUILD = re.compile(r"^(cuda|hip|xpu)\b[^=]*=\s*'([^']+)'", re.MULTILINE)


def read_software(
    places: HostPlaces, inventory: pb.Inventory, found: MachineCards, gpus: tuple[HostGpu, ...], reasons: Reasons
) -> HostSoftware:
    """Return the versions of this machine's software."""
    driver = next((each.driver_version for each in gpus if each.vendor == "nvidia" and each.driver_version), None)
    packages = installed_packages() if places.this_machine else {}
    software = HostSoftware(
        operating_system=inventory.operating_system or None,
        kernel=inventory.kernel or None,
        python_version=inventory.python_version or platform.python_version(),
        nvidia_driver=driver or loaded_driver(read_text(places.proc / "driver/nvidia/version") or ""),
        cuda_version=found.cuda_version,
        torch_build=torch_build() if "torch" in packages else None,
        rocm_version=read_text(places.root / "opt/rocm/.info/version") or None,
        metal=metal_name() if places.this_machine else None,
        opencl=opencl_platforms(places.root / "etc/OpenCL/vendors"),
        packages=packages,
    )
    if software.nvidia_driver:
        add_reasons(reasons, "software", software, {"cuda_version": "the driver does not report it"})
    if software.opencl == ():
        reasons["software.opencl"] = "no OpenCL platform is registered in /etc/OpenCL/vendors"
    add_reasons(reasons, "software", software, REASONS)
    return software


def loaded_driver(text: str) -> str | None:
    """Return the version of the loaded kernel module, from `/proc/driver/nvidia/version`."""
    match = _NVIDIA_VERSION.search(text.partition("\n")[0])
    return match[1] if match else None


def installed_packages() -> dict[str, str]:
    """Return the versions of the installed packages."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def torch_build() -> str | None:
    """Return what the installed PyTorch was built for, from its file of versions."""
    spec = util.find_spec("torch")
    return build_of(read_text(Path(spec.origin).with_name("version.py")) or "") if spec and spec.origin else None


def build_of(text: str) -> str | None:
    """Return the build by PyTorch's `version.py`, such as `cuda 12.8`.

    >>> build_of("cuda: Optional[str] = '12.8'")
    'cuda 12.8'
    >>> build_of("cuda: Optional[str] = None")
    'cpu'
    """
    if "cuda" not in text:
        return None
    match = _BUILD.search(text)
    return f"{'rocm' if match[1] == 'hip' else match[1]} {match[2]}" if match else "cpu"


def metal_name() -> str | None:
    """Return Metal with the version of macOS, which it belongs to."""
    version = platform.mac_ver()[0]
    return f"Metal (macOS {version})" if version and platform.machine() == "arm64" else None


def opencl_platforms(vendors: Path) -> tuple[str, ...]:
    """Return the libraries that installable client drivers name, such as `libnvidia-opencl.so.1`."""
    named = [read_text(vendors / name) or "" for name in entries(vendors) if name.endswith(".icd")]
    return tuple(line.strip() for text in named for line in text.splitlines()[:1] if line.strip())
