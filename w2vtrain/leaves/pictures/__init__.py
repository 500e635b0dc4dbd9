"""Pictures of runs and of vectors: curves, maps and counts, and the report that has them all on one page.

Nothing here trains, changes a model or prints.
"""
