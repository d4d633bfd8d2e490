"""Models that are asked for all at once, for their sizes, or once an epoch."""

from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("all-mpnet-base-v2")


def vectors(texts):
    found = []
    for start in range(0, len(texts), 64):
        found.append(encoder.encode(texts[start : start + 64]))
    return found


def counted(llm, prompts):
    return [llm.get_num_tokens(prompt) for prompt in prompts]


def at_once(llm, prompts):
    return llm.batch(prompts)


def rounds(llm, prompt, epochs):
    for epoch in range(epochs):
        print(llm.generate(prompt, seed=epoch))


def tokens(tokenizer, texts):
    return [tokenizer.encode(text) for text in texts]
