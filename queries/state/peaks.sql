-- Peaks of the server's state over a run: active, waiting and paused requests, and cache use.
--
-- These are different quantities and are never added. The mean cache use is weighted by time.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @column run_id VARCHAR The run; absent where no state was recorded.
-- @column n_samples BIGINT Samples recorded.
-- @column max_running INTEGER Most requests active at once.
-- @column max_waiting INTEGER Most requests waiting for admission at once.
-- @column max_paused INTEGER Most requests paused after they had started.
-- @column max_batch_tokens BIGINT Most tokens scheduled in one iteration.
-- @column max_kv_fraction DOUBLE Highest share of the cache in use.
-- @column mean_kv_fraction DOUBLE Mean share of the cache in use, weighted by time.
-- @column n_preemptions BIGINT Preemptions the server counted; NULL where it is not recorded.
SELECT
    run_id,
    count(*) AS n_samples,
    max(running) AS max_running,
    max(waiting) AS max_waiting,
    max(paused) AS max_paused,
    max(prefill_tokens::BIGINT + decode_tokens) AS max_batch_tokens,
    max(kv_fraction) AS max_kv_fraction,
    sum(kv_fraction * duration_us)
    / nullif(sum(duration_us) FILTER (WHERE kv_fraction IS NOT NULL), 0) AS mean_kv_fraction,
    rise(arg_min(preemptions_total, at_us), arg_max(preemptions_total, at_us)) AS n_preemptions
FROM state
WHERE list_contains($run_ids::VARCHAR[], run_id)
GROUP BY run_id
ORDER BY run_id
