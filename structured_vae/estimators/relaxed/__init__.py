"""Estimators that differentiate a relaxation of the states: Gumbel-Softmax and its relatives."""
