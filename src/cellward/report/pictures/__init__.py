"""Pictures of a result, one a file; matplotlib is loaded when the first is drawn."""
