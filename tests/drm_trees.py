"""Fixture trees of GPUs as the kernel shows them: DRM cards, processes that hold them, and KFD's compute contexts."""

import struct
from collections.abc import Mapping
from pathlib import Path

from flyball_agent.probes.probe import ProbeSample
from flyball_agent.probes.testing import write_tree

UNSET = b"\xff"
SIZES = {  # sizeof of the structures in kgd_pp_interface.h on x86-64
    (1, 0): 80, (1, 1): 96, (1, 2): 104, (1, 3): 120, (1, 4): 288, (1, 5): 360, (1, 6): 1664, (1, 7): 2208,
    (1, 8): 3872, (2, 0): 120, (2, 1): 120, (2, 2): 128, (2, 3): 152, (2, 4): 168, (3, 0): 264,
}  # fmt: skip


def write_card(sys_root: Path, number: int, driver: str, files: Mapping[str, str]) -> Path:
    """Write a DRM card as in the kernel's sysfs, with a connector and a render node beside it."""
    device = sys_root / f"devices/pci/{number}"
    write_tree(device, {name: f"{content}\n" for name, content in files.items()})
    (sys_root / f"bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
    (device / "driver").symlink_to(sys_root / f"bus/pci/drivers/{driver}")
    card = sys_root / f"class/drm/card{number}"
    card.mkdir(parents=True)
    (card / "device").symlink_to(device)
    (sys_root / f"class/drm/card{number}-HDMI-A-1").mkdir()
    (sys_root / f"class/drm/renderD{128 + number}").mkdir()
    return device


def write_process(proc_root: Path, pid: int, descriptors: Mapping[int, str], start_ticks: int = 0) -> Path:
    """Write a process. A descriptor's text is its DRM statistics; an empty text makes it a plain file."""
    folder = proc_root / str(pid)
    for name in ("fd", "fdinfo"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    fields = " ".join(["S", *["0"] * 18, str(start_ticks or pid), "0"])
    (folder / "stat").write_text(f"{pid} (python (3)) {fields}\n")
    for descriptor, text in descriptors.items():
        link = folder / f"fd/{descriptor}"
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/dri/renderD128" if text else "/var/log/train.log")
        (folder / f"fdinfo/{descriptor}").write_text(f"pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t570\n{text}")
    return folder


def statistics(driver: str, address: str, client: int, **values: str) -> str:
    """Return DRM client statistics, one key a line; underscores of the names are hyphens."""
    lines = {"drm-driver": driver, "drm-pdev": address, "drm-client-id": str(client)}
    lines |= {f"drm-{name.replace('_', '-')}": value for name, value in values.items()}
    return "".join(f"{key}:\t{value}\n" for key, value in lines.items())


def write_kfd_gpu(sys_root: Path, node: int, gpu: int, bus: int, compute_units: int) -> None:
    """Write a GPU of KFD's topology, beside node 0, which is the CPU."""
    nodes = "class/kfd/kfd/topology/nodes"
    properties = f"simd_count {compute_units * 4}\nsimd_per_cu 4\nlocation_id {bus << 8}\ndomain 0\n"
    write_tree(
        sys_root,
        {
            f"{nodes}/0/gpu_id": "0\n",
            f"{nodes}/0/properties": "cpu_cores_count 64\n",
            f"{nodes}/{node}/gpu_id": f"{gpu}\n",
            f"{nodes}/{node}/properties": properties,
        },
    )


def write_kfd_process(sys_root: Path, pid: int, gpu: int, memory_bytes: int, compute_units: int) -> None:
    """Write a process with a compute context on a GPU."""
    folder = f"class/kfd/kfd/proc/{pid}"
    write_tree(
        sys_root,
        {
            f"{folder}/vram_{gpu}": f"{memory_bytes}\n",
            f"{folder}/stats_{gpu}/cu_occupancy": f"{compute_units}\n",
            f"{folder}/pasid": "32770\n",
        },
    )


def metrics_table(major: int, minor: int, values: Mapping[int, tuple[str, int]]) -> bytes:
    """Return a `gpu_metrics` table: values by offset with their struct format, everything else not provided."""
    size = SIZES[major, minor]
    data = bytearray(UNSET * size)
    struct.pack_into("=HBB", data, 0, size, major, minor)
    for offset, (form, value) in values.items():
        struct.pack_into(f"={form}", data, offset, value)
    return bytes(data)


def unexplained(sample: ProbeSample) -> set[str]:
    """Return the metrics of missing values that no unavailable reading explains."""
    explained = {(missing.metric, missing.resource.partition("/")[0]) for missing in sample.unavailable}
    pairs = zip(sample.columns, sample.values, strict=True)
    missing = {(column.metric.name, column.labels[0]) for column, value in pairs if value is None}
    return {metric for metric, _ in missing - explained}
