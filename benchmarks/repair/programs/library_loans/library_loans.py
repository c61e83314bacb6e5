"""Lending books, by the number of the day."""

from shelf import Shelf

DAYS = 14
MOST = 3
FINE = 20


class Library:
    """Lends the copies of a Shelf for 14 days, at most 3 books to a reader at a time."""

    def __init__(self, shelf: Shelf):
        self.shelf = shelf
        self._loans = {}
        self._waiting = {}

    def loans(self, reader):
        """What a reader has: ``(title, day due)``, the earliest due first, then by title."""
        found = [(due, title) for (name, title), due in self._loans.items() if name == reader]
        return [(title, due) for due, title in sorted(found)]

    def borrow(self, reader, title, day):
        """Lend a copy; returns the day it is due, or None if none is there: then the reader waits for it (once).

        ValueError "already borrowed", or "too many books", or "books overdue" if one was due before ``day``,
        checked in this order.
        """
        if (reader, title) in self._loans:
            raise ValueError("already borrowed")
        mine = self.loans(reader)
        if len(mine) >= MOST:
            raise ValueError("too many books")
        if mine and mine[0][1] < day:
            raise ValueError("books overdue")
        if not self.shelf.take(title):
            queue = self._waiting.setdefault(title, [])
            if reader not in queue:
                queue.append(reader)
            return None
        self._loans[reader, title] = day + DAYS
        return day + DAYS

    def give_back(self, reader, title, day):
        """Take a copy back; returns the fine, 20 for each day after the one it was due.

        The copy goes to the first reader who waits for it and has fewer than 3 books (who then waits no longer),
        else to the shelf. KeyError "TITLE" if the reader has no such loan.
        """
        if (reader, title) not in self._loans:
            raise KeyError(title)
        due = self._loans.pop((reader, title))
        for other in self._waiting.get(title, []):
            if len(self.loans(other)) < MOST:
                self._waiting[title].remove(other)
                self._loans[other, title] = day + DAYS
                break
        else:
            self.shelf.put(title)
        return FINE * max(0, day - due)

    def overdue(self, day):
        """Readers with a book that was due before ``day``, sorted, each once."""
        return sorted({reader for (reader, _), due in self._loans.items() if due < day})
