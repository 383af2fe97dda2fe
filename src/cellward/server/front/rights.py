"""Rights: whose token a request carries, whether it holds, how often it may ask, and what its role lets it do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cellward.server.front.fault import Fault
from cellward.server.front.people import People, Person

TRIES, TRIES_IN_S = 5, 10.0
"""How often a token that is not remembered is tried, each number for itself: scrypt is dear, and is not to be had for nothing."""
MOST_BUCKETS = 10_000


@dataclass
class Buckets:
    """So many a period for each key, with as many at once; what was not used comes back little by little."""

    clock: Callable[[], float] = time.monotonic
    left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, key: str, most: int, period_s: float) -> float:
        """Take one; gives 0, or the seconds until there is one."""
        now = self.clock()
        before, since = self.left.get(key, (float(most), now))
        have = min(float(most), before + (now - since) * most / period_s)
        if len(self.left) >= MOST_BUCKETS and key not in self.left:
            self.left.clear()
        self.left[key] = (have - 1, now) if have >= 1 else (have, now)
        return 0.0 if have >= 1 else (1 - have) * period_s / most


class Rights:
    """Who is there, and what they may."""

    def __init__(self, people: People, clock: Callable[[], float] = time.time) -> None:
        self.people = people
        self.clock = clock
        self._asked, self._tried = Buckets(), Buckets()
        self._one_at_a_time = asyncio.Semaphore(1)

    async def person(self, authorization: str | None) -> Person:
        """Whose token an Authorization header carries; a Fault where it does not hold or asks too often."""
        if not authorization:
            raise _nobody("token-missing", "this address is for holders of a token", "send Authorization: Bearer TOKEN")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise _nobody(
                "token-missing", "the Authorization header holds no bearer token", "send Authorization: Bearer TOKEN"
            )
        person = await self._recognised(token.strip())
        if person is None:
            raise _nobody(
                "token-unknown", "there is no such token", "check it, or ask the administrator for another one"
            )
        if person.revoked is not None:
            raise _nobody("token-revoked", "this token was taken back", "ask the administrator for another one")
        if person.expires <= self.clock():
            raise _nobody("token-expired", "this token has expired", "ask the administrator for another one")
        if wait := self._asked.take(person.name, person.limits.per_minute, 60.0):
            sentence = f"this token is for {person.limits.per_minute} requests a minute"
            raise _too_often("too-many-requests", sentence, wait)
        return person

    async def _recognised(self, token: str) -> Person | None:
        if (person := self.people.remembered(token)) is not None:
            return person
        number = self.people.number_of(token)
        if number is None:
            return None
        if wait := self._tried.take(number, TRIES, TRIES_IN_S):
            raise _too_often("too-many-tries", "this token was tried too often within a few seconds", wait)
        async with self._one_at_a_time:
            return self.people.remembered(token) or await asyncio.to_thread(self.people.recognise, token)


def needs(person: Person, role: str) -> None:
    """Refuse a role that is less."""
    if not person.may(role):
        raise Fault(403, "role", f"this is for the role {role}, and yours is {person.role}", "ask an administrator")


def _nobody(code: str, sentence: str, remedy: str) -> Fault:
    return Fault(401, code, sentence, remedy, {"WWW-Authenticate": 'Bearer realm="cellward"'})


def _too_often(code: str, sentence: str, wait_s: float) -> Fault:
    seconds = int(wait_s) + 1
    return Fault(429, code, sentence, f"ask again in {seconds} s", {"Retry-After": str(seconds)})
