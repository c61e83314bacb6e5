"""A league table: every result counts for two teams."""


class Tournament:
    """Teams and results. A win gives 3 points, a draw 1 to each."""

    def __init__(self, teams):
        self._rows = {team: [0, 0, 0, 0, 0] for team in teams}  # won, drawn, lost, scored, conceded
        self._played = []

    def result(self, home, away, scored, conceded):
        """Note a game from the home team's side. KeyError for an unknown team.

        ValueError "same team", or "already played" if these two played with the same one at home.
        """
        if home == away:
            raise ValueError("same team")
        if (home, away) in self._played:
            raise ValueError("already played")
        rows = self._rows[home], self._rows[away]
        self._played.append((home, away))
        for row, own, other in zip(rows, (scored, conceded), (conceded, scored)):
            outcome = 0 if own > other else 1 if own == other else 2
            row[outcome] += 1
            row[3] += own
            row[4] += other

    def points(self, team):
        """The points of a team."""
        won, drawn, *_ = self._rows[team]
        return 3 * won + drawn

    def difference(self, team):
        """Goals scored less goals conceded."""
        return self._rows[team][3] - self._rows[team][4]

    def table(self):
        """Rows ``(team, games, points, difference)``: by points, then difference, then goals scored, the highest
        first, then by name."""

        def order(team):
            return -self.points(team), -self.difference(team), -self._rows[team][3], team

        return [(t, sum(self._rows[t][:3]), self.points(t), self.difference(t)) for t in sorted(self._rows, key=order)]

    def open_games(self):
        """The pairs (home, away) not yet played, sorted: everybody plays everybody at home and away."""
        pairs = [(a, b) for a in self._rows for b in self._rows if a != b]
        return sorted(pair for pair in pairs if pair not in self._played)

    def can_still_win(self, team):
        """True if the team, winning all its open games, would reach the most points that any team has now."""
        left = sum(team in pair for pair in self.open_games())
        return self.points(team) + 3 * left >= max(map(self.points, self._rows))


def rounds(teams):
    """A plan by the circle method: a list of rounds, each a list of pairs in which each team plays once.

    The first team stays in its place, the others move on by one place each round (the last comes behind the
    first). Pairs are first with last, second with last but one, and so on. An odd number of teams gets the
    extra team None at its end.
    """
    circle = list(teams) + [None] * (len(teams) % 2)
    plan = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        plan.append([(circle[i], circle[-1 - i]) for i in range(half)])
        circle.insert(1, circle.pop())
    return plan
