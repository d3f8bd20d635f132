"""Record batches as bytes: their layout, the walk over them, compression."""
