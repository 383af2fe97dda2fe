"""Advice before anything is protected: how large a base or a distance a table needs, what each method costs, and which to use."""
