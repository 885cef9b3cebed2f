-- Fills `bounds` from run files.
INSERT INTO bounds BY NAME
SELECT
    run_id,
    count(*) AS n_measured,
    count(arrived_us(scheduled_us, sent_us)) AS n_placed,
    min(arrived_us(scheduled_us, sent_us)) AS first_us,
    max(arrived_us(scheduled_us, sent_us)) + 1 AS last_us,
    max(last_known_us(scheduled_us, sent_us, ended_us, latency_us)) FILTER (
        WHERE outcome != 'not_sent'
    ) AS last_seen_us,
    count(scheduled_us) > 0
    AND count(*) FILTER (WHERE sent_us IS NOT NULL AND scheduled_us IS NULL) = 0 AS has_schedule
FROM new_files
WHERE phase = 'measured'
GROUP BY run_id;
