"""From what a caller gives to sums over states: `gibbs` of bits, labels and conversions.

The face of the package hands on what is public of it. It stands on the sums of bits
(`gibbs_distribution`) and of labels, and only adapters may import it.
"""
