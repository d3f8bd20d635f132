"""Groups of the classic protocol, in which a member assigns."""
