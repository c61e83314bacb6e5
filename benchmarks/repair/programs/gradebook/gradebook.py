"""Scores of a class."""

from grading_rules import drop_lowest, grade, ranks


class Gradebook:
    """Scores of students in percent, by kind of work. ``weights`` is ``{kind: weight}``; ``dropped`` as many as
    the lowest scores of each kind that do not count (but one always counts)."""

    def __init__(self, weights, dropped=0):
        self.weights = weights
        self.dropped = dropped
        self._scores = {}

    def record(self, student, kind, score):
        """Note a score. KeyError with an unknown kind, ValueError "bad score" unless from 0 to 100."""
        if kind not in self.weights:
            raise KeyError(kind)
        if not 0 <= score <= 100:
            raise ValueError("bad score")
        self._scores.setdefault(student, {}).setdefault(kind, []).append(score)

    def average(self, student):
        """The weighted mean of the means of the kinds that have scores, rounded down. KeyError if unknown."""
        total = weight = 0
        for kind, scores in self._scores[student].items():
            kept = drop_lowest(scores, self.dropped)
            total += self.weights[kind] * sum(kept) / len(kept)
            weight += self.weights[kind]
        return int(total / weight)

    def report(self):
        """For each student, the best first and then by name: ``(rank, name, average, grade)``."""
        names = list(self._scores)
        averages = [self.average(name) for name in names]
        rows = zip(ranks(averages), names, averages, map(grade, averages))
        return sorted(rows)

    def distribution(self):
        """How many students have each grade, as text like "A1 B0 C2 D0 F1"."""
        letters = [letter for _, _, _, letter in self.report()]
        return " ".join(f"{letter}{letters.count(letter)}" for letter in "ABCDF")

    def missing(self, kind, count):
        """Names of students with fewer than ``count`` scores of a kind, sorted."""
        return sorted(name for name, kinds in self._scores.items() if len(kinds.get(kind, [])) < count)
