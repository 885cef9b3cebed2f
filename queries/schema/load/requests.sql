-- Fills `requests` from run files; the stream chunks stay in the files.
INSERT INTO requests BY NAME
WITH placed AS (
    SELECT
        * EXCLUDE (chunk_gaps_us, chunk_tokens),
        phase = 'measured' AND arrived_us(scheduled_us, sent_us) IS NOT NULL AS has_place
    FROM new_files
)

SELECT
    * EXCLUDE (has_place),
    CASE
        WHEN has_place
            THEN row_number() OVER (
                PARTITION BY run_id, has_place
                ORDER BY arrived_us(scheduled_us, sent_us), request_index
            )
    END AS place
FROM placed;
