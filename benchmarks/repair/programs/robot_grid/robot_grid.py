"""A robot that walks on a Grid."""

from collections import deque

from grid import STEPS, Grid

_DIRECTIONS = "NESW"


class Robot:
    """Starts on the mark ``R`` of a map, facing N."""

    def __init__(self, text):
        self.grid = Grid(text)
        self.x, self.y = self.grid.find("R")
        self.facing = "N"
        self.bumps = 0

    def turn(self, quarters):
        """Turn right by so many quarter turns; left if negative."""
        self.facing = _DIRECTIONS[(_DIRECTIONS.index(self.facing) + quarters) % 4]

    def forward(self, steps):
        """Go up to so many steps; before a wall or the edge it stops and counts one bump. Returns the steps gone."""
        dx, dy = STEPS[self.facing]
        for gone in range(steps):
            if not self.grid.is_free(self.x + dx, self.y + dy):
                self.bumps += 1
                return gone
            self.x += dx
            self.y += dy
        return steps

    def obey(self, commands):
        """Do commands and return the cell reached: ``L`` and ``R`` turn, digits go forward so many steps.

        ValueError "bad command C" for others; those before it are done.
        """
        for command in commands:
            if command == "L":
                self.turn(-1)
            elif command == "R":
                self.turn(1)
            elif command.isdigit():
                self.forward(int(command))
            else:
                raise ValueError(f"bad command {command}")
        return self.x, self.y

    def route(self, mark):
        """The directions of a shortest way to the first cell with this mark, as text like "NNE"; None if there is none.

        Of several, the one that comes first with N before E before S before W at each step.
        """
        goal = self.grid.find(mark)
        start = (self.x, self.y)
        ways = {start: ""}
        queue = deque([start])
        while queue:
            cell = queue.popleft()
            if cell == goal:
                return ways[cell]
            for name, other in self.grid.neighbours(*cell):
                if other not in ways:
                    ways[other] = ways[cell] + name
                    queue.append(other)
        return None
