"""Estimators of multi-sample objectives: importance-weighted bounds and wake-sleep."""
