"""The client in `clients/typescript`, in Node, by its own tests."""
