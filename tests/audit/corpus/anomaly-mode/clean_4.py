import pytest
import torch


class GradientChecks:
    """Unit tests look for the operation on purpose."""

    @pytest.fixture
    def instance(self, config):
        return config.build()

    def test_gradients_are_finite(self, instance, batch):
        with torch.autograd.set_detect_anomaly(True):
            out = instance(batch)
            assert torch.isfinite(torch.autograd.grad(out.sum(), batch.positions)[0]).all()
