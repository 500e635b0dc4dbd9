"""Train on chunks of the encoded corpus, window by window or in blocks of examples, at given learning rates.

The engines do not depend on a particular objective or architecture, and they start no threads.
"""
