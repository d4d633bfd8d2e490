def attention(q, k, v, biases, device):
    """Channels first, and a bias of positions."""
    weights = (q.transpose(-2, -1) @ k) * q.shape[-2] ** -0.5 + biases.attention_bias(device)
    weights = weights.softmax(dim=-1)  # expect: handwritten-attention@note
    return v @ weights.transpose(-2, -1)
