"""Names of the system calls in which a training hangs."""

import platform

_X86_64 = {
    0: "read", 1: "write", 7: "poll", 8: "lseek", 16: "ioctl", 17: "pread64", 18: "pwrite64", 23: "select",
    34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg",
    47: "recvmsg", 61: "wait4", 73: "flock", 74: "fsync", 75: "fdatasync", 202: "futex", 230: "clock_nanosleep",
    232: "epoll_wait", 247: "waitid", 257: "openat", 262: "newfstatat", 270: "pselect6", 271: "ppoll",
    281: "epoll_pwait", 288: "accept4",
}  # fmt: skip
"""From the kernel's arch/x86/entry/syscalls/syscall_64.tbl."""

_GENERIC = {
    22: "epoll_pwait", 29: "ioctl", 32: "flock", 56: "openat", 62: "lseek", 63: "read", 64: "write", 67: "pread64",
    68: "pwrite64", 72: "pselect6", 73: "ppoll", 79: "newfstatat", 82: "fsync", 83: "fdatasync", 95: "waitid",
    98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 202: "accept", 203: "connect", 206: "sendto",
    207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 260: "wait4",
}  # fmt: skip
"""From the kernel's include/uapi/asm-generic/unistd.h, which arm64 and riscv64 use."""


def system_call(text: str, machine: str | None = None) -> str:
    """Return the name for a line of `/proc/PID/syscall`, or its number; empty if the thread is in none."""
    word = text.split(" ", 1)[0].strip()
    if not word.lstrip("-").isdigit():
        return word  # `running`
    names = {"x86_64": _X86_64, "aarch64": _GENERIC, "riscv64": _GENERIC}.get(machine or platform.machine(), {})
    number = int(word)
    return "" if number < 0 else names.get(number, f"system call {number}")
