"""Dead letters: what their headers say, which of them have been dealt with, and what is sent in their place."""
