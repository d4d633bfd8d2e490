"""Tests of the kinds of waits, with names of kernel functions from several versions."""

import pytest

from flyball_agent.probes.training.wait_kinds import KINDS, wait_kind


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("io_schedule", "disk"),
        ("folio_wait_bit_common", "disk"),
        ("wait_on_page_bit_common", "disk"),  # before 5.16
        ("__iomap_dio_rw", "disk"),
        ("jbd2_log_wait_commit", "disk"),
        ("request_wait_answer", "remote"),
        ("nfs_wait_bit_killable", "remote"),
        ("ceph_mdsc_do_request", "remote"),
        ("mem_cgroup_handle_over_high", "memory"),
        ("reclaim_throttle", "memory"),
        ("sk_wait_data", "socket"),
        ("wait_woken", "socket"),  # what a read of a socket waits in
        ("__skb_wait_for_more_packets", "socket"),
        ("inet_csk_accept", "socket"),
        ("poll_schedule_timeout.constprop.0", "poll"),
        ("do_sys_poll", "poll"),
        ("ep_poll", "poll"),
        ("do_select", "poll"),
        ("futex_wait_queue", "process"),
        ("futex_wait_queue_me", "process"),  # before 5.16
        ("anon_pipe_read", "process"),
        ("pipe_read", "process"),
        ("do_wait", "process"),
        ("hrtimer_nanosleep", "other"),
        ("uvm_va_space_mm_enabled", "other"),
    ],
)
def test_each_function_belongs_to_a_kind(function: str, kind: str) -> None:
    """The kind of a wait follows from the kernel's function, whatever the version of the kernel calls it."""
    assert wait_kind(function.encode()) == kind
    assert kind in KINDS


def test_an_uninterruptible_sleep_in_an_unknown_function_is_a_wait_for_a_disk() -> None:
    """As in the load average, a thread in the state D counts as waiting for a disk; one in the state S does not."""
    assert wait_kind(b"vendor_queue_submit", uninterruptible=True) == "disk"
    assert wait_kind(b"vendor_queue_submit") == "other"
