"""Score-function estimators with baselines and control variates."""
