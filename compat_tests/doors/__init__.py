"""Written through each door, read through every other: the same records, with keys, headers, null values, delays and
priorities where the door can say them."""
