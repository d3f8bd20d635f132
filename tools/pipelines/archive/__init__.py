"""Topics in Parquet files, exactly once, with a log that ties every file to the offsets it holds."""
