"""What is said of a result, one section a file."""
