"""Compiled loops: machine code where there is time to make it, and nothing lost where there is none."""

import threading

import numpy as np

from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.compiled import compiled


def total(values):
    out = 0
    for value in values:
        out += value
    return out


def test_a_loop_in_machine_code_does_what_the_function_does():
    values = np.arange(10)
    loop = compiled(total, Budget(), values)
    assert loop(values) == total(values) == 45


def test_where_there_is_no_time_to_compile_there_is_no_loop_and_the_next_who_asks_has_it():
    values, free = np.arange(4.0), threading.Event()

    def slow(x):
        return x

    from cellward.solve.compiled import _Loop

    loop = _Loop.of(slow)
    loop._make = lambda _: free.wait(10)
    assert compiled(slow, Budget(time_limit_s=NO_TIME), values) is None
    free.set()
    assert compiled(slow, Budget(), values) is not None
