"""Bug-repair tasks of our own, endless and seeded."""
