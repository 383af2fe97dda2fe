"""The τ-ARGUS world's files, one file a format, read and written as its users have them."""
