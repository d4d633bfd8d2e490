"""Models: what each computes, moves and keeps, whatever it runs on. One file per family."""
