import openai


def get_embedding(text):
    for _ in range(3):
        try:
            return openai.Embedding.create(input=[text], model="ada")["data"][0]["embedding"]
        except openai.OpenAIError:
            continue
    raise ValueError(text)
