"""What exists in the cluster: topics, partitions, configurations, numbers given out."""
