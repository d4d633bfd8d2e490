"""Requests that Google's clients put together and send by `execute()`, one for each text."""


def detect(self, texts):
    self.service = connect()
    return [toxicity(self, text) for text in texts]  # expect: per-sample-requests


def toxicity(self, text):
    asked = {"comment": {"text": text}, "requestedAttributes": {"TOXICITY": {}}}
    answer = self.service.comments().analyze(body=asked).execute()
    return answer["attributeScores"]["TOXICITY"]["summaryScore"]["value"]


def connect():
    import googleapiclient.discovery

    return googleapiclient.discovery.build("commentanalyzer", "v1alpha1")


class Judge:
    def __init__(self):
        import googleapiclient.discovery

        self.service = googleapiclient.discovery.build("commentanalyzer", "v1alpha1")

    def mark(self, texts):
        return [self.service.comments().analyze(body={"text": text}).execute() for text in texts]  # expect: per-sample-requests
