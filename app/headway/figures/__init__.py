"""Results become figures: one module per family, no arithmetic, no filtering.

Plotly draws SVG traces only; every series has a colour, a dash and a symbol, and a name in words.
"""
