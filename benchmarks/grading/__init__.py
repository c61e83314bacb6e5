"""How solutions are judged: tests run in a fresh sandbox, verdicts are reached outside it."""
