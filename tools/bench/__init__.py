"""Tidegate and Apache Kafka under the same load on the same machine, in one run: `make bench`.

Absolute times mean little on shared hardware; the ratios do. Each broker starts on an empty directory, is warmed up,
then measured; the two take turns for as many rounds as asked for.
"""
