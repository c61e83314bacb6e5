"""Tasks, where they come from, and how a solution is graded."""
