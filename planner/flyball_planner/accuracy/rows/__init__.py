"""Reads rows of tables: a subject, a training, a layout and a device."""
