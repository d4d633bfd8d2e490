"""Convolutional networks, described layer by layer, so that parameters and products are exact."""
