import ray


def step_all(workers, actions):
    """All were asked before the first answer is waited for."""
    asked = [worker.step.remote(action) for worker, action in zip(workers, actions)]
    answers = []
    for each in asked:
        answers.append(ray.get(each))
    return answers
