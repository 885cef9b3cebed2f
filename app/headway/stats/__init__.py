"""The statistics behind every verdict: numbers in, frozen results out.

Nothing in this room reads a file, asks a database or rounds. Requests come as numpy arrays in order
of arrival, lost requests stand at +infinity, and durations of one call share one unit.
"""
