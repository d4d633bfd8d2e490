"""Stores: where blocks, minute series and documents are kept; one protocol, one contract suite."""
