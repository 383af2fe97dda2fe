"""Tables on a lattice: the integer machinery that rounding, perturbation and adjustment share."""
