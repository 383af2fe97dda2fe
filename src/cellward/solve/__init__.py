"""The solver layer: the only room that imports a solver; models go in, outcomes come out."""
