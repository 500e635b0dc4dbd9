"""The two training engines: one window after another, and blocks of examples; and the schedule of both.

They know no objective and no architecture by name.
"""
