"""Blocks: a minute of records of one epoch, columnar and compressed. They are the unit of durability."""
