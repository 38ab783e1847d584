"""What comes before an exact search: variables that are fixed or taken out, and the parts that the rest falls into.

Stands on max_flow and precision; it may use all algorithms but the searches beside it. Backends may
import it.
"""
