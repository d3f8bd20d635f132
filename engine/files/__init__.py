"""Files and what the kernel does with them: the real ones and those in memory."""
