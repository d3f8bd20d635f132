"""Groups of the new consumer protocol (KIP-848): the broker assigns, and members move one by one."""
