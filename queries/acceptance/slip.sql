-- Schedule and send of every request that was sent and has both: did the client keep its schedule?
--
-- @param run_ids VARCHAR[] Runs to read.
-- @column run_id VARCHAR The run.
-- @column scheduled_us BIGINT Intended arrival.
-- @column sent_us BIGINT Actual send.
SELECT
    run_id,
    scheduled_us,
    sent_us
FROM requests
WHERE
    list_contains($run_ids::VARCHAR[], run_id)
    AND phase = 'measured'
    AND scheduled_us IS NOT NULL
    AND sent_us IS NOT NULL
ORDER BY run_id, request_index
