"""The twin: every combination of bottom codes gets one adjusted value once, and every answer is a sum of these."""
