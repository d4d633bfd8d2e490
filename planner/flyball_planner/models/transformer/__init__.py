"""Transformers: from a shape or a Hugging Face configuration to parameters, operators and activations."""
