-- Fills `runs` from the descriptions in the run files.
INSERT INTO runs BY NAME
SELECT *
FROM run_rows;
