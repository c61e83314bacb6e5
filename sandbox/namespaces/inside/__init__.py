"""The programs that run inside bubblewrap: the keeper, and PID 1 of each sandbox."""
