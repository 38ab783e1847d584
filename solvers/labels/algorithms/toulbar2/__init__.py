"""Run toulbar2's search in a separate process, since its library holds one problem per process."""
