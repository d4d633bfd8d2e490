"""The times that the slow parts of trainer_cases.py take at least. The test imports them without the framework."""

SAMPLE_SECONDS = 0.005  # to read one sample of the training
EVALUATION_SECONDS = 4 * 0.02  # to read the samples of an evaluation
