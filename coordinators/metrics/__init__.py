"""Figures of topics, groups and transactions, made when somebody asks; `docs/operations/metrics.md` lists them."""
