"""What is done with records, in the broker's own words: every door publishes, reads and deletes by these."""
