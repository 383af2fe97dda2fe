"""Rivals: methods of others, drawn and attacked for comparison; none of them makes a release."""
