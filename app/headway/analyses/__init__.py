"""One module per question: run queries, call statistics, return a result.

Pages, the command line and the report call the same analysis, so their numbers cannot differ.
"""
