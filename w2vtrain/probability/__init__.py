"""What output objectives are made of: noise distributions, trees, letters, and dense and partial softmax layers.

These are tools. The objectives themselves live in `objectives/`.
"""
