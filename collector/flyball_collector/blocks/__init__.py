"""Blocks: a minute of one epoch's records, columnar and compressed, the unit of durability."""
