from models.utils import CustomDataParallel


def build(model, device):
    """A kind of the wrapper, whose file is not at hand."""
    return CustomDataParallel(model).to(device)  # expect: data-parallel@note
