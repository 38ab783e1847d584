"""Predict, then decide: PyEPO's tasks and others, its methods beside ours.

A network predicts the costs of a decision from features. The decision is the best one under the
predicted costs. What counts is what it costs under the true costs, compared with the best decision.

    python -m benchmarks.decisions knapsack --output results/decisions/knapsack.json
"""
