"""The catalogue of a cluster, kept by etcd."""
