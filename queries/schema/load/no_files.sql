-- Stands for the run files of an empty library, so that every query answers with no rows.
CREATE OR REPLACE VIEW request_files AS
SELECT
    *,
    NULL::INTEGER[] AS chunk_gaps_us,
    NULL::INTEGER[] AS chunk_tokens
FROM requests;
