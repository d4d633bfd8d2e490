"""Processes that the kernel killed because memory ran out, and whose memory it was."""
