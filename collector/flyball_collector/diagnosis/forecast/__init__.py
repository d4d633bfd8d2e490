"""What will break, and when: memory, leaks, temperatures, disks; and readings that only seem to live."""
