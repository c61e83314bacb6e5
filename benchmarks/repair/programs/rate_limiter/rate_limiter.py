"""Limits on how often something may happen; the caller gives the time, a number that never goes down."""


class TokenBucket:
    """Holds up to ``capacity`` tokens, full at time 0; one more comes every ``interval`` units."""

    def __init__(self, capacity, interval):
        self.capacity = capacity
        self.interval = interval
        self._tokens = capacity
        self._updated = 0

    def _refill(self, now):
        new = (now - self._updated) // self.interval
        self._tokens = min(self.capacity, self._tokens + new)
        self._updated += new * self.interval

    def allow(self, now, cost=1):
        """Take ``cost`` tokens if there are so many; says whether it did."""
        self._refill(now)
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def wait(self, now, cost=1):
        """How long until ``allow`` would take ``cost`` tokens: 0 if it would now, None if the bucket is too small."""
        if cost > self.capacity:
            return None
        self._refill(now)
        missing = cost - self._tokens
        if missing <= 0:
            return 0
        return self._updated + missing * self.interval - now


class SlidingWindow:
    """At most ``limit`` events of each key in any ``span`` units: one at t counts while now < t + span."""

    def __init__(self, limit, span):
        self.limit = limit
        self.span = span
        self._times = {}

    def _recent(self, key, now):
        recent = [time for time in self._times.get(key, []) if now < time + self.span]
        if recent:
            self._times[key] = recent
        else:
            self._times.pop(key, None)
        return recent

    def allow(self, key, now):
        """Count an event if the limit lets it; says whether it did."""
        recent = self._recent(key, now)
        if len(recent) >= self.limit:
            return False
        self._times[key] = [*recent, now]
        return True

    def remaining(self, key, now):
        """How many events would be allowed now."""
        return self.limit - len(self._recent(key, now))

    def busiest(self, now):
        """The key with the most events that count now, of equal ones the least; None if no event counts."""
        counts = [(-len(self._recent(key, now)), key) for key in list(self._times)]
        most, key = min(counts, default=(0, None))
        return key if most < 0 else None
