import unittest

import torch
from torch import nn


class BlockTest(unittest.TestCase):
    """Unit tests run a model once: nobody waits for them."""

    def test_sizes_of_validation_outputs(self):
        for width in (8, 16):
            model = nn.Sequential(nn.Linear(4, width), nn.ReLU())
            model.eval()
            self.assertEqual(model(torch.ones(2, 4)).shape, (2, width))
