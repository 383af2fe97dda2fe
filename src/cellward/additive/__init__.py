"""Additive: tables that do not add up are made to, on request, by the nearest table that does."""
