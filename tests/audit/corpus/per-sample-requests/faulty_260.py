class Store:
    """Vectors of texts, whoever makes them."""

    def __init__(self, index, embed_model, embedding_function):
        self._index = index
        self._embed_model = embed_model
        self._embedding_function = embedding_function

    def add_nodes(self, nodes):
        for node in nodes:
            if node.embedding is None:
                vector = self._embed_model.get_text_embedding(node.text)  # expect: per-sample-requests@note
            else:
                vector = node.embedding
            self._index.add_one(node.id, vector)

    def add_texts(self, texts):
        found = []
        for place, text in enumerate(texts):
            found.append((place, self._embedding_function(text)))  # expect: per-sample-requests@note
        return found


class Answers:
    def __init__(self, client, model):
        self.client = client
        self.model = model

    def _one(self, prompt):
        found = self.client.chat.completions.create(
            model=self.model, messages=[{"role": "user", "content": prompt}]
        )
        return found.choices[0].message.content

    def all(self, prompts):
        return [self._one(prompt) for prompt in prompts]  # expect: per-sample-requests@note


class Vectors:
    def __init__(self, client, name):
        self._ollama_client = client
        self.name = name

    def _one(self, text):
        return self._ollama_client.embeddings(model=self.name, prompt=text)["embedding"]

    def several(self, texts):
        return [self._one(each) for each in texts]  # expect: per-sample-requests@note


class Judge:
    def __init__(self, model):
        self._model = model

    def scores(self, questions, config):
        def ask(question):
            try:
                return self._model.generate_content(question, **config)
            except ValueError as error:
                return error

        return [ask(each) for each in questions]  # expect: per-sample-requests@note


class Documents:
    def __init__(self, client):
        self.client = client

    def _vector(self, text):
        return self.client.invoke_model(body=text, modelId="titan")

    def vectors(self, texts):
        found = []
        for text in texts:
            found.append(self._vector(text))  # expect: per-sample-requests@note
        return found
