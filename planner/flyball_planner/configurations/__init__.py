"""Complete configurations for a training on given hardware: conservative, balanced or extreme."""
