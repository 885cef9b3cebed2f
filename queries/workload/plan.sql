-- The workload of runs as it was planned: what the fingerprint is taken over.
--
-- @param run_ids VARCHAR[] Runs to read.
-- @column run_id VARCHAR The run.
-- @column request_index INTEGER Position in the workload.
-- @column arrival_us BIGINT Scheduled time from the run's zero; NULL where it is unknown.
-- @column prompt_tokens INTEGER Prompt length.
-- @column requested_output_tokens INTEGER Tokens asked for.
-- @column prefix_group INTEGER Group that shares a prompt prefix; NULL for none.
SELECT
    run_id,
    request_index,
    scheduled_us AS arrival_us,
    prompt_tokens,
    requested_output_tokens,
    prefix_group
FROM requests
WHERE list_contains($run_ids::VARCHAR[], run_id) AND phase = 'measured'
ORDER BY run_id, request_index
