-- The offered requests of runs: when they were due and how long they are. What a mix is made of.
--
-- @param run_ids VARCHAR[] Runs to read.
-- @column run_id VARCHAR The run.
-- @column arrival_us BIGINT Scheduled time, else the send; NULL where neither is known.
-- @column prompt_tokens INTEGER Prompt length; NULL where it is not recorded.
-- @column output_tokens INTEGER Length asked for, else that of a completed answer; else NULL.
SELECT
    run_id,
    coalesce(scheduled_us, sent_us) AS arrival_us,
    prompt_tokens,
    coalesce(
        requested_output_tokens, CASE WHEN outcome = 'completed' THEN output_tokens END
    ) AS output_tokens
FROM requests
WHERE list_contains($run_ids::VARCHAR[], run_id) AND phase = 'measured'
ORDER BY run_id, request_index
