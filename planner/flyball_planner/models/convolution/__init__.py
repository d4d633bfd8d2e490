"""Convolutional networks, described layer by layer, so that their parameters and products are exact."""
