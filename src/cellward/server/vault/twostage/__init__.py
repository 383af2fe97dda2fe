"""The two-stage engine: a table is planned and judged first, then adjusted with every published value fixed, and judged with all before it."""
