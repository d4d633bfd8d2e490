"""Forecasts of memory, temperatures and disks; memory leaks; and telemetry that is frozen."""
