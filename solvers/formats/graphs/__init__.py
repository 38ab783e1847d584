"""Files of graphs, read as maximum cuts or independent sets."""
