"""The profile of this machine: its parts, their limits, and measured speeds."""
