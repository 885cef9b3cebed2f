-- Fills `state` from the companions of the run files.
INSERT INTO state BY NAME
SELECT *
FROM new_state_files;
