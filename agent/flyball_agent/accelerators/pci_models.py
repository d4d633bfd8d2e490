"""Names of GPUs by their PCI ids, for cards whose driver does not provide a name.

Source: the PCI ID repository (pci.ids, https://pci-ids.ucw.cz), the names in brackets, with the vendor's name before.
Only accelerators and workstation cards that are used for training are listed.
"""

from pathlib import Path

from flyball_agent.probes.files import read_text

_MODELS = {
    ("0x1002", "0x66a1"): "AMD Radeon Instinct MI50",
    ("0x1002", "0x738c"): "AMD Instinct MI100",
    ("0x1002", "0x738e"): "AMD Instinct MI100",
    ("0x1002", "0x7408"): "AMD Instinct MI250X",
    ("0x1002", "0x740c"): "AMD Instinct MI250X/MI250",
    ("0x1002", "0x740f"): "AMD Instinct MI210",
    ("0x1002", "0x74a0"): "AMD Instinct MI300A",
    ("0x1002", "0x74a1"): "AMD Instinct MI300X",
    ("0x1002", "0x74a2"): "AMD Instinct MI308X",
    ("0x1002", "0x74a5"): "AMD Instinct MI325X",
    ("0x1002", "0x74a9"): "AMD Instinct MI300X HF",
    ("0x1002", "0x74b5"): "AMD Instinct MI300X VF",
    ("0x1002", "0x74b9"): "AMD Instinct MI325X VF",
    ("0x1002", "0x74bd"): "AMD Instinct MI300X HF",
    ("0x1002", "0x75a0"): "AMD Instinct MI350X",
    ("0x1002", "0x75a3"): "AMD Instinct MI355X",
    ("0x1002", "0x73a3"): "AMD Radeon PRO W6800",
    ("0x1002", "0x7448"): "AMD Radeon PRO W7900",
    ("0x1002", "0x745e"): "AMD Radeon PRO W7800",
    ("0x1002", "0x744c"): "AMD Radeon RX 7900 XT/7900 XTX",
    ("0x1002", "0x7550"): "AMD Radeon RX 9070/9070 XT",
    ("0x1002", "0x7551"): "AMD Radeon AI PRO R9700",
    ("0x8086", "0x0bd5"): "Intel Data Center GPU Max 1550",
    ("0x8086", "0x0bd6"): "Intel Data Center GPU Max 1550",
    ("0x8086", "0x0bd7"): "Intel Data Center GPU Max 1350",
    ("0x8086", "0x0bd8"): "Intel Data Center GPU Max 1350",
    ("0x8086", "0x0bd9"): "Intel Data Center GPU Max 1100",
    ("0x8086", "0x0bda"): "Intel Data Center GPU Max 1100",
    ("0x8086", "0x0bdb"): "Intel Data Center GPU Max 1100",
    ("0x8086", "0x56c0"): "Intel Data Center GPU Flex 170",
    ("0x8086", "0x56c1"): "Intel Data Center GPU Flex 140",
    ("0x8086", "0x56a0"): "Intel Arc A770",
    ("0x8086", "0x56a1"): "Intel Arc A750",
    ("0x8086", "0x56a2"): "Intel Arc A580",
    ("0x8086", "0x56a5"): "Intel Arc A380",
    ("0x8086", "0x56a6"): "Intel Arc A310",
    ("0x8086", "0x56b1"): "Intel Arc Pro A40/A50",
    ("0x8086", "0xe20b"): "Intel Arc B580",
}


def model_name(device: Path) -> str:
    """Return the name of a PCI device: from the driver (amdgpu: `product_name`), else from its ids, else the ids."""
    if name := read_text(device / "product_name"):
        return name
    vendor, kind = read_text(device / "vendor") or "", read_text(device / "device") or ""
    return _MODELS.get((vendor.lower(), kind.lower())) or f"unknown model {vendor}:{kind}".replace("0x", "")
