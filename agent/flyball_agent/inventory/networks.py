"""Network interfaces and InfiniBand ports of the host, from sysfs."""

from pathlib import Path

from flyball_agent.probes.files import entries, read_number, read_text
from flyball_agent.probes.infiniband import parse_rate
from flyball_agent.probes.network import is_watched
from flyball_proto.v1 import telemetry_pb2 as pb

LOOPBACK = "lo"
MEGABIT = 1_000_000
_HARDWARE_TYPES = {772: "loopback", 32: "infiniband"}  # include/uapi/linux/if_arp.h


def read_networks(sys_root: Path) -> list[pb.NetworkInterface]:
    """Read the interfaces whose traffic is watched, and loopback."""
    net = sys_root / "class/net"
    names = (name for name in entries(net) if name == LOOPBACK or is_watched(name))
    return [_read_network(net / name) for name in names if (net / name).is_dir()]


def interface_kind(folder: Path) -> str:
    """Return ethernet, infiniband, wireless, bridge, virtual or loopback."""
    known = _HARDWARE_TYPES.get(read_number(folder / "type") or 0)
    if known is not None:
        return known
    if (folder / "wireless").exists() or (folder / "phy80211").exists():
        return "wireless"
    if (folder / "bridge").exists():
        return "bridge"
    return "ethernet" if (folder / "device").exists() else "virtual"


def _read_network(folder: Path) -> pb.NetworkInterface:
    driver = folder / "device/driver"
    speed = read_number(folder / "speed") or 0
    return pb.NetworkInterface(
        device=folder.name,
        kind=interface_kind(folder),
        driver=driver.resolve().name if driver.exists() else "",
        speed_bits_per_second=speed * MEGABIT if 0 < speed < 0xFFFFFFFF else 0,
        mtu_bytes=max(0, read_number(folder / "mtu") or 0),
    )


def read_infiniband_ports(sys_root: Path) -> list[pb.InfinibandPort]:
    """Read the ports of InfiniBand and RoCE adapters."""
    adapters = sys_root / "class/infiniband"
    ports = (
        (name, port) for name in entries(adapters) for port in entries(adapters / name / "ports") if port.isdigit()
    )
    return [_read_port(adapters / name / "ports" / port, name, int(port)) for name, port in ports]


def _read_port(folder: Path, device: str, port: int) -> pb.InfinibandPort:
    return pb.InfinibandPort(
        device=device,
        port=port,
        state=(read_text(folder / "state") or "").rpartition(": ")[2].lower(),
        rate_bits_per_second=8 * (parse_rate((read_text(folder / "rate") or "").encode()) or 0),
        link_layer=read_text(folder / "link_layer") or "",
    )
