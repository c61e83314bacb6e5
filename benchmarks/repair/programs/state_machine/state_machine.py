"""Finite automata over text."""


class Machine:
    """A deterministic automaton.

    ``rules`` is ``{(state, character): next state}``; the character "*" stands for any that has no rule
    of its own in that state. ``final`` lists the accepting states. The first state is ``start``.
    """

    def __init__(self, rules, start, final):
        self.rules = rules
        self.start = start
        self.final = final

    def step(self, state, char):
        """The next state, or None if no rule fits."""
        if (state, char) in self.rules:
            return self.rules[state, char]
        return self.rules.get((state, "*"))

    def trace(self, text):
        """All states passed, the first included; ends early with None where no rule fits."""
        states = [self.start]
        for char in text:
            states.append(self.step(states[-1], char))
            if states[-1] is None:
                break
        return states

    def accepts(self, text):
        """True if the text leads to a final state."""
        return self.trace(text)[-1] in self.final

    def longest(self, text, begin=0):
        """The end of the longest accepted piece of ``text`` that starts at ``begin``, or None."""
        state = self.start
        end = begin if state in self.final else None
        for position in range(begin, len(text)):
            state = self.step(state, text[position])
            if state is None:
                break
            if state in self.final:
                end = position + 1
        return end

    def find_all(self, text):
        """The longest accepted pieces that are not empty, from left to right, without overlaps."""
        found = []
        position = 0
        while position < len(text):
            end = self.longest(text, position)
            if end is not None and end > position:
                found.append(text[position:end])
                position = end
            else:
                position += 1
        return found

    def reachable(self):
        """All states that can be reached from the start, sorted."""
        seen = [self.start]
        for state in seen:
            for (source, _), target in self.rules.items():
                if source == state and target not in seen:
                    seen.append(target)
        return sorted(seen)
