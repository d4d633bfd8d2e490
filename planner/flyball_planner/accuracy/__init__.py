"""How far predictions lie from measurements: tables of runs in, errors out."""
