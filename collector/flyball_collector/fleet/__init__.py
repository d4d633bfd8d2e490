"""The fleet: what every host says now, columnar."""
