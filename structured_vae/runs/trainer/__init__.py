"""Lightning's trainer for this library: callbacks, loggers, signals, processes and memory.

`train` and `resume` use it.
"""
