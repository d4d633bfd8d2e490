"""Reporting from training frameworks: Trainer, Lightning, DeepSpeed and optimizers of PyTorch."""
