-- Schedule and send of every request that was sent and has both: did the client keep its schedule?
--
-- @param run_id VARCHAR The run.
-- @column scheduled_us BIGINT Intended arrival.
-- @column sent_us BIGINT Actual send.
SELECT
    scheduled_us,
    sent_us
FROM requests
WHERE
    run_id = $run_id::VARCHAR
    AND phase = 'measured'
    AND scheduled_us IS NOT NULL
    AND sent_us IS NOT NULL
ORDER BY request_index
