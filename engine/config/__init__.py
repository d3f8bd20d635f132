"""Config keys as data: what each key is called, takes, defaults to and means, and which value is in force."""
