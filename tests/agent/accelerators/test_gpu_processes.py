"""Tests of the processes on AMD and Intel GPUs, with fixture trees of procfs and sysfs."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball_agent.accelerators.amd import AmdProbe
from flyball_agent.accelerators.device_use import DeviceUse, total_utilization
from flyball_agent.accelerators.drm_client import Busy, busy_share, parse_client
from flyball_agent.accelerators.drm_processes import SEARCH_LINKS, DrmProcesses
from flyball_agent.accelerators.intel import IntelProbe
from flyball_agent.accelerators.kfd_processes import KfdProcesses
from flyball_agent.probes.probe import ProbeSample
from flyball_proto.unavailable_reading import Reason
from tests.drm_trees import statistics, unexplained, write_card, write_kfd_gpu, write_kfd_process, write_process

GIB = 1024**3
FIRST, SECOND = "0000:c1:00.0", "0000:c6:00.0"
NOBODY = 65534


def amdgpu(address: str, client: int, compute_ns: int = 0, kib: int = 1024) -> str:
    return statistics(
        "amdgpu", address, client,
        memory_vram=f"{kib} KiB", memory_gtt="77 KiB", engine_compute=f"{compute_ns} ns", engine_dma="5 ns",
    )  # fmt: skip


def xe(client: int, cycles: int, total: int, kib: int = 2048) -> str:
    return statistics(
        "xe", "0000:03:00.0", client,
        total_system="9 MiB", resident_vram0=f"{kib} KiB", total_vram0="90 MiB",
        cycles_ccs=str(cycles), total_cycles_ccs=str(total), cycles_bcs=str(total), total_cycles_bcs=str(total),
    )  # fmt: skip


def by_process(uses: object) -> dict[tuple[int, str], DeviceUse]:
    assert isinstance(uses, (list, tuple))
    return {(use.pid, use.address): use for use in uses}


@pytest.fixture
def readable_tree() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own one belongs to the user who runs it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class Unprivileged:
    """Acts as a user without rights for a while: root may read everything."""

    def __enter__(self) -> None:
        self._root = os.geteuid() == 0
        if self._root:
            os.seteuid(NOBODY)

    def __exit__(self, *_: object) -> None:
        if self._root:
            os.seteuid(0)


def test_statistics_are_parsed() -> None:
    """Driver, address, client, device memory and busy engines are read; other regions and engines are not."""
    client = parse_client(amdgpu(FIRST, 7, 123, 2048).encode())
    assert client is not None
    assert (client.driver, client.address, client.client_id) == ("amdgpu", FIRST, "7")
    assert client.memory_bytes == 2048 * 1024
    assert client.engines == {"compute": Busy(123)}
    two = parse_client(statistics("i915", FIRST, 1, engine_render="5 ns", engine_capacity_render="2").encode())
    assert two is not None
    assert (two.memory_bytes, two.engines) == (None, {"render": Busy(5, None, 2)})
    tiles = parse_client(statistics("xe", FIRST, 1, resident_vram0="1 MiB", resident_vram1="2 MiB").encode())
    assert tiles is not None
    assert tiles.memory_bytes == 3 * 1024**2


@pytest.mark.parametrize(
    "text",
    ["", "pos:\t0\n", "drm-driver:\tpanfrost\ndrm-client-id:\t1\n", "drm-driver:\tamdgpu\ndrm-pdev:\t0000:01:00.0\n"],
)
def test_descriptors_without_a_pci_client_are_none(text: str) -> None:
    """A plain file, a device that is not on the PCI bus and statistics without a client are skipped."""
    assert parse_client(text.encode()) is None


def test_busy_shares_are_of_time_or_of_cycles() -> None:
    """Nanoseconds count against the clock, cycles against all cycles, both against the number of engines."""
    assert busy_share(Busy(0), Busy(500_000_000), 1.0) == pytest.approx(0.5)
    assert busy_share(Busy(0, None, 2), Busy(500_000_000, None, 2), 1.0) == pytest.approx(0.25)
    assert busy_share(Busy(10, 1000), Busy(40, 1100), 9.0) == pytest.approx(0.3)
    assert busy_share(Busy(10), Busy(5), 1.0) == 0, "a counter may fall for a moment"
    assert busy_share(Busy(0), Busy(9_000_000_000), 1.0) == 1
    assert busy_share(Busy(0, 10), Busy(1, 10), 1.0) is None


def test_processes_have_memory_and_utilisation(tmp_path: Path) -> None:
    """Memory is known at once, utilisation from the second reading on, per process and card."""
    write_process(tmp_path, 100, {3: "", 4: amdgpu(FIRST, 1, 0), 5: amdgpu(SECOND, 2, 0, 4096)})
    write_process(tmp_path, 200, {9: amdgpu(FIRST, 3, 0)})
    processes = DrmProcesses(tmp_path, ("amdgpu",))
    first = by_process(processes.read(10.0))
    assert {key: use.memory_bytes for key, use in first.items()} == {
        (100, FIRST): 1024**2,
        (100, SECOND): 4 * 1024**2,
        (200, FIRST): 1024**2,
    }
    assert {use.utilization for use in first.values()} == {None}
    write_process(tmp_path, 100, {4: amdgpu(FIRST, 1, 800_000_000), 5: amdgpu(SECOND, 2, 0)})
    write_process(tmp_path, 200, {9: amdgpu(FIRST, 3, 100_000_000)})
    second = by_process(processes.read(11.0))
    assert {key: use.utilization for key, use in second.items()} == pytest.approx(
        {(100, FIRST): 0.8, (100, SECOND): 0, (200, FIRST): 0.1}
    )
    assert processes.fault is None


def test_a_client_counts_once_for_the_oldest_process(tmp_path: Path) -> None:
    """Duplicated and inherited descriptors show the same client; it belongs to the process that started first."""
    write_process(tmp_path, 50, {4: amdgpu(FIRST, 1)}, start_ticks=900)
    write_process(tmp_path, 300, {4: amdgpu(FIRST, 1), 7: amdgpu(FIRST, 1)}, start_ticks=400)
    assert [(use.pid, use.memory_bytes) for use in DrmProcesses(tmp_path, ("amdgpu",)).read(0)] == [(300, 1024**2)]


def test_cards_of_other_drivers_are_left_out(tmp_path: Path) -> None:
    """Each vendor's probe lists only clients of its drivers."""
    write_process(tmp_path, 50, {4: amdgpu(FIRST, 1), 5: xe(1, 0, 0)})
    assert [use.address for use in DrmProcesses(tmp_path, ("xe", "i915")).read(0)] == ["0000:03:00.0"]


def test_processes_come_and_go(tmp_path: Path) -> None:
    """A device that is opened later is found, a closed one and an ended process are gone at the next reading."""
    write_process(tmp_path, 100, {3: ""})
    processes = DrmProcesses(tmp_path, ("amdgpu",))
    assert processes.read(0) == []
    write_process(tmp_path, 100, {4: amdgpu(FIRST, 1), 5: amdgpu(SECOND, 2)})
    assert len(processes.read(1)) == 2
    write_process(tmp_path, 100, {4: ""})
    assert [use.address for use in processes.read(2)] == [SECOND]
    shutil.rmtree(tmp_path / "100")
    assert processes.read(3) == []


def test_a_search_is_limited_and_begins_with_new_processes(tmp_path: Path) -> None:
    """One reading looks at a limited number of descriptors; a new process does not wait for the round."""
    descriptors = dict.fromkeys(range(SEARCH_LINKS // 2), "")
    for pid in (1, 2, 3, 4, 5):
        write_process(tmp_path, pid, descriptors)
    write_process(tmp_path, 1, {9999: amdgpu(FIRST, 1)})
    processes = DrmProcesses(tmp_path, ("amdgpu",))
    assert processes.read(0) == [], "process 1 is the last of the first round"
    write_process(tmp_path, 6, {3: amdgpu(FIRST, 2)})
    assert [use.pid for use in processes.read(1)] == [6]
    assert [use.pid for use in processes.read(2)] == [1, 6]


def test_a_user_without_rights_gets_a_reason(readable_tree: Path) -> None:
    """Processes of other users are not zero processes: the reason is a missing permission."""
    folder = write_process(readable_tree, 100, {4: amdgpu(FIRST, 1)})
    for name in ("fd", "fdinfo"):
        (folder / name).chmod(0)
    processes = DrmProcesses(readable_tree, ("amdgpu",))
    with Unprivileged():
        assert processes.read(0) == []
    assert processes.fault is not None
    assert processes.fault.reason is Reason.DENIED
    assert processes.fault.remedy == "give the agent CAP_SYS_PTRACE"
    shutil.rmtree(folder)
    processes.read(1)
    assert processes.fault is None, "the process has ended"


def test_statistics_suffice_where_links_are_denied(readable_tree: Path) -> None:
    """With CAP_SYS_PTRACE alone the kernel shows fdinfo but not the links; that is enough."""
    folder = write_process(readable_tree, 100, {3: "", 4: amdgpu(FIRST, 1)})
    (folder / "fd").chmod(0)
    processes = DrmProcesses(readable_tree, ("amdgpu",))
    with Unprivileged():
        uses = processes.read(0)
    assert [(use.pid, use.memory_bytes) for use in uses] == [(100, 1024**2)]
    assert processes.fault is None


def test_rocm_processes_are_read_from_kfd(tmp_path: Path) -> None:
    """Memory is that of each GPU; compute units are read only where several processes share a GPU."""
    write_kfd_gpu(tmp_path, 1, 51545, 0xC1, 304)
    write_kfd_gpu(tmp_path, 2, 33912, 0xC6, 304)
    write_kfd_process(tmp_path, 100, 51545, 80 * GIB, 152)
    write_kfd_process(tmp_path, 100, 33912, 0, 0)
    write_kfd_process(tmp_path, 200, 51545, 20 * GIB, 38)
    write_kfd_process(tmp_path, 300, 33912, 5 * GIB, 304)
    assert KfdProcesses(tmp_path).read(0) == [
        DeviceUse(100, FIRST, 80 * GIB, 0.5),
        DeviceUse(200, FIRST, 20 * GIB, 0.125),
        DeviceUse(300, SECOND, 5 * GIB, None),
    ]


def test_both_sources_of_amd_are_one_process(tmp_path: Path) -> None:
    """KFD and DRM see the same memory of a process; it is not added."""
    write_card(tmp_path, 0, "amdgpu", {"uevent": f"PCI_SLOT_NAME={FIRST}", "unique_id": "5f8a"})
    write_kfd_gpu(tmp_path, 1, 51545, 0xC1, 304)
    write_kfd_process(tmp_path, 100, 51545, 3 * 1024**2, 10)
    write_process(tmp_path / "proc", 100, {4: amdgpu(FIRST, 1, 0, 2048)})
    probe = AmdProbe(tmp_path, proc_root=tmp_path / "proc")
    assert unexplained(probe.read()) == set()
    (process,) = probe.processes
    assert (process.gpu, process.pid, process.memory_used_bytes) == ("AMD-5f8a", 100, 3 * 1024**2)
    assert not process.HasField("utilization_ratio")


def intel_values(sample: ProbeSample) -> tuple[object, object]:
    values = {column.metric.name: value for column, value in zip(sample.columns, sample.values, strict=True)}
    return values["gpu_utilization_ratio"], values["gpu_memory_used_bytes"]


def test_intel_cards_are_as_busy_as_their_processes(tmp_path: Path) -> None:
    """Utilisation and used memory of an Intel card are the sums over its processes, from the second reading on."""
    write_card(tmp_path, 0, "xe", {"uevent": "PCI_SLOT_NAME=0000:03:00.0"})
    write_process(tmp_path / "proc", 100, {4: xe(1, 100, 1000)})
    write_process(tmp_path / "proc", 200, {4: xe(2, 500, 1000)})
    now = [0.0]
    probe = IntelProbe(tmp_path, lambda: now[0], proc_root=tmp_path / "proc")
    assert intel_values(probe.read()) == (None, 4 * 1024**2)
    write_process(tmp_path / "proc", 100, {4: xe(1, 150, 1200)})
    write_process(tmp_path / "proc", 200, {4: xe(2, 510, 1200)})
    now[0] = 1.0
    sample = probe.read()
    assert intel_values(sample) == pytest.approx((0.3, 4 * 1024**2))
    assert unexplained(sample) == set()
    assert [(process.pid, round(process.utilization_ratio, 3)) for process in probe.processes] == [
        (100, 0.25),
        (200, 0.05),
    ]


def test_an_idle_intel_card_is_zero_and_a_hidden_one_unknown(readable_tree: Path) -> None:
    """Without processes the card is idle; if some may be missing, its use is unknown."""
    write_card(readable_tree, 0, "xe", {"uevent": "PCI_SLOT_NAME=0000:03:00.0"})
    proc = readable_tree / "proc"
    proc.mkdir()
    probe = IntelProbe(readable_tree, proc_root=proc)
    assert intel_values(probe.read()) == (0, 0)
    folder = write_process(proc, 100, {4: xe(1, 0, 0)})
    for name in ("fd", "fdinfo"):
        (folder / name).chmod(0)
    with Unprivileged():
        sample = probe.read()
    assert intel_values(sample) == (None, None)
    denied = {missing.metric for missing in sample.unavailable if missing.reason is Reason.DENIED}
    assert denied == {"gpu_processes", "gpu_utilization_ratio", "gpu_memory_used_bytes"}


def test_the_use_of_a_card_is_unknown_only_if_that_of_all_processes_is() -> None:
    """Without processes it is 0; a process that has just started does not hide the others."""
    assert total_utilization([]) == 0
    assert total_utilization([DeviceUse(1, FIRST)]) is None
    assert total_utilization([DeviceUse(1, FIRST), DeviceUse(2, FIRST, None, 0.4)]) == 0.4
    assert total_utilization([DeviceUse(1, FIRST, None, 0.9), DeviceUse(2, FIRST, None, 0.4)]) == 1
