"""Read files of graphs as maximum cuts, minimum cuts or scored graphs."""
