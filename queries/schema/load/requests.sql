-- Fills `requests` from the run files; the stream chunks stay in the files.
INSERT INTO requests BY NAME
SELECT * EXCLUDE (chunk_gaps_us, chunk_tokens)
FROM request_files;
