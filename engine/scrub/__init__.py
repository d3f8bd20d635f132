"""The scrubber: reads everything that is on disk again, slowly, and tells what is damaged before anybody needs it."""
