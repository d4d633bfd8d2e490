"""How long a training takes: operators, links, pipelines, whole runs, energy and money."""
