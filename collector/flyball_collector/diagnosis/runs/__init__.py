"""Runs and their ranks: who holds the others up, who became slower, what hangs, when it will be done."""
