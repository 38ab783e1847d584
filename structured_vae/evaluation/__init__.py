"""What is known of a trained model on images, and how well: bounds, likelihoods, refinements, gradients.

Stands on estimators, objectives and posteriors; training uses the cheap numbers of each model after
every epoch, runs the rest.
"""
