"""What is printed and what it tells."""
