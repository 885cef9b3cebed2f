-- Fills `requests` from one run file; the stream chunks stay in the file.
INSERT INTO requests BY NAME
WITH placed AS (
    SELECT
        * EXCLUDE (chunk_gaps_us, chunk_tokens),
        phase = 'measured' AND arrived_us(scheduled_us, sent_us) IS NOT NULL AS has_place
    FROM request_files
)

SELECT
    * EXCLUDE (has_place),
    CASE
        WHEN has_place
            THEN row_number() OVER (
                PARTITION BY has_place
                ORDER BY arrived_us(scheduled_us, sent_us), request_index
            )
    END AS place
FROM placed;
