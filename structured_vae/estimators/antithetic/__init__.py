"""Score-function estimators with antithetic pairs or groups of samples."""
