from ask import get_embedding as _get_embedding


def transform(texts):
    return [_get_embedding(text) for text in texts]  # expect: per-sample-requests@note
