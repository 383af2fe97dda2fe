"""In order: questions asked side by side, and their answers taken in the order in which they were asked, so that who is faster changes nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

What = TypeVar("What")
Answer = TypeVar("Answer")


def in_order(
    asked: Iterable[tuple[What, Callable[[], Future[Answer]]]], width: Callable[[], int]
) -> Iterator[tuple[What, Answer]]:
    """What was asked for and its answer, so many under way as there may be; the next is only drawn when it can be asked."""
    under_way: deque[tuple[What, Future[Answer]]] = deque()
    asking = iter(asked)
    while True:
        while len(under_way) >= width():
            what, future = under_way.popleft()
            yield what, future.result()
        more = next(asking, None)
        if more is None:
            break
        what, ask_for = more
        under_way.append((what, ask_for()))
    for what, future in under_way:
        yield what, future.result()
