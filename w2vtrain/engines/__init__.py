"""Learn chunks of the encoded corpus, one window after another or in blocks of examples, at given learning rates.

The engines know no objective and no architecture by name, and start no thread.
"""
