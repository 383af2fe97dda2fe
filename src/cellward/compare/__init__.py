"""Comparisons: several methods, and the rivals that offices use, on one table: what attackers get, what users lose, and which to choose."""
