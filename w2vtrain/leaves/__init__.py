"""The leaves: each imports the core, which works without it and reaches it through doors.py and cli.py."""
