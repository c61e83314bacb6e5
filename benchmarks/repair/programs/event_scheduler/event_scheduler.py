"""Events at whole-number times, run by a clock that is moved by hand."""

import heapq


class Scheduler:
    """Runs callbacks when its clock, ``now``, is moved to their times. The clock starts at 0."""

    def __init__(self):
        self.now = 0
        self._heap = []
        self._cancelled = set()
        self._next = 1

    def at(self, time, action, every=None):
        """Plan ``action()`` at ``time``; then, if ``every`` is given, again after each ``every`` units.

        Returns the event's number: 1, 2, 3, ... ValueError if ``time`` is before now or ``every`` is below 1.
        """
        if time < self.now:
            raise ValueError("time is in the past")
        if every is not None and every < 1:
            raise ValueError("period must be at least 1")
        number = self._next
        self._next += 1
        heapq.heappush(self._heap, (time, number, action, every))
        return number

    def after(self, delay, action):
        """Plan ``action()`` once, ``delay`` units from now. Returns the event's number."""
        return self.at(self.now + delay, action)

    def cancel(self, number):
        """Drop a planned event; False if no such event is planned."""
        if number in self.pending():
            self._cancelled.add(number)
            return True
        return False

    def pending(self):
        """The numbers of the planned events, in the order they are due; at equal times, by number."""
        return [number for _, number, _, _ in sorted(self._heap, key=lambda e: e[:2]) if number not in self._cancelled]

    def advance(self, units):
        """Move the clock by ``units``, running all that is due up to and including the new time, in order.

        During an action ``now`` is the event's time, and what it plans in range runs too.
        Returns how many actions ran.
        """
        end = self.now + units
        ran = 0
        while self._heap and self._heap[0][0] <= end:
            time, number, action, every = heapq.heappop(self._heap)
            if number in self._cancelled:
                self._cancelled.remove(number)
                continue
            self.now = time
            if every is not None:
                heapq.heappush(self._heap, (time + every, number, action, every))
            action()
            ran += 1
        self.now = end
        return ran
