"""The client: what a training script imports. It measures the training and reports to the agent of its host."""
