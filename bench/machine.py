# SPDX-License-Identifier: Apache-2.0
"""What a benchmark ran on, printed at the head of its output."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_FLAGS = ("avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "vaes")
_LIBRARIES = ("tacit", "numpy", "scipy", "duckdb", "pyarrow", "cryptography")
_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TACIT_ISA")


def describe(threads: int) -> str:
    """Command, processor, its flags that matter, memory, versions, settings and threads."""
    name = _processor("model name") or platform.processor() or platform.machine()
    flags = _processor("flags").split()
    system = f"{platform.system()} {platform.machine()}"
    settings = [f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ]
    script = Path(sys.argv[0]).resolve().relative_to(ROOT)
    return "\n".join(
        [
            " ".join(["command    python", str(script), *sys.argv[1:]]),
            f"machine    {name}, {os.cpu_count()} cores, {_memory_gib():.0f} GiB",
            f"flags      {' '.join(f for f in _FLAGS if f in flags) or 'unknown'}",
            f"system     {system}, Python {platform.python_version()}",
            f"libraries  {', '.join(_versions())}",
            f"settings   {', '.join(settings) or 'none'}",
            f"threads    {threads}",
        ]
    )


def _processor(field: str) -> str:
    """A field of Linux's description of the first processor, empty elsewhere."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == field:
                return value.strip()
    return ""


def _memory_gib() -> float:
    if not hasattr(os, "sysconf"):
        return float("nan")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _versions() -> list[str]:
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} absent")
    return found
