"""Convert graphs: scores on nodes and edges, maximum and minimum cuts."""
