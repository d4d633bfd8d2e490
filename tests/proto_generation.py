"""Generate the Python modules and type stubs of the wire format."""

import subprocess
import sys
from pathlib import Path


def generate(target: Path) -> None:
    """Run protoc over every .proto file."""
    binaries = Path(sys.executable).parent
    plugins = [f"--plugin=protoc-gen-{name}={binaries / f'protoc-gen-{name}'}" for name in ("mypy", "mypy_grpc")]
    outputs = [f"--{kind}_out={target}" for kind in ("python", "mypy", "grpc_python", "mypy_grpc")]
    sources = [str(path) for path in sorted(Path("proto").rglob("*.proto"))]
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", "proto", *plugins, *outputs, *sources]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
