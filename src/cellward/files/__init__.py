"""Files as such: text and TOML in, whole files out."""
