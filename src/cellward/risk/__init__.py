"""What is at risk: cell statuses and the protection levels asked for."""
