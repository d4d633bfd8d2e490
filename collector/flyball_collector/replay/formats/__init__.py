"""Reads series that other tools have recorded: nvidia-smi, DCGM, node_exporter."""
