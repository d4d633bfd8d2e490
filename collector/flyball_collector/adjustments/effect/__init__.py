"""The measured effect of a change on the steps of a run."""
