"""The services of the door, a file for each; each lists its methods as `METHODS`."""
