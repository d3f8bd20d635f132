"""Tidegate and Apache Kafka under the same load on the same machine, in one run: `make bench`.

Absolute times mean little on shared hardware; the ratios do. `rows.py` lists what is measured and which goal each
figure has; `loads/` does it, one file per kind of load, with Kafka's own Java tools or with the native load generator
(`native/`, in Go); `runner.py` goes through rounds, rows and brokers, each on an empty directory; `results.py` keeps
what was found; `summary.py` makes medians and ratios of it, `page.py` and `plot.py` docs/benchmarks.md and its plot,
and a page of every figure in build/bench.

Programs of their own: `delay`, `sniff`, `tracing`, `tracing_path` measure single features; `instructions` is the guard
that `make test` runs.
"""
