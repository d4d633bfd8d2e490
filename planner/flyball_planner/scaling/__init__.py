"""Runs growing sizes for real, finds the law by which time grows, and says what far larger sizes would take."""
