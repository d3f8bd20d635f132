"""PySpark jobs that a data team runs over its topics."""
