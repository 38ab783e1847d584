"""Lightning's trainer as this library runs it: callbacks and loggers, signals, processes, memory.

`train` and `resume` use it.
"""
