"""Schemas: what records of a topic hold, who may say so, and whether what comes fits."""
