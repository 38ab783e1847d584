"""What backends of labels are made of."""
