"""File formats, one file each, read and write together."""
