"""The times that the slow parts of lightning_cases.py take at least. The test imports them without the framework."""

SAMPLE_SECONDS = 0.005  # to read one sample of the training
EVALUATION_SECONDS = 0.08
FORWARD_SECONDS = 0.01  # of one batch
