"""Predicts memory, time and cost of trainings."""
