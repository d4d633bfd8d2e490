"""State-space models (Mamba, Mamba-2) and hybrids with attention: parameters, operators and activations."""
