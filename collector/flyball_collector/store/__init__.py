"""Stores of blocks, minute series and documents: one protocol, and one contract suite for all implementations."""
