"""Stage and release: when what was held back goes into the partition's log, and who waits for it meanwhile."""
