import ray


def step_all(workers, actions):
    """Each is asked when the one before has answered."""
    return [ray.get(worker.step.remote(action)) for worker, action in zip(workers, actions)]  # expect: per-sample-requests
