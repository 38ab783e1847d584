"""Estimators that move the argmax: direct optimization, implicit MLE, perturbed argmax."""
