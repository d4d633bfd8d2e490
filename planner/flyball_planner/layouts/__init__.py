"""How a training is spread over devices, and the search for the best way."""
