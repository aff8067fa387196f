"""Yardsticks: what must hold is a ratio, and both of its sides are measured in the same run."""
