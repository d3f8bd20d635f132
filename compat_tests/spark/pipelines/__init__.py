"""The pipelines of tools/pipelines/ on real topics."""
