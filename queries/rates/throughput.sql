-- Rates of one window: completions and tokens by their own time inside it ÷ the window's length.
-- Output tokens count as they are delivered where the chunk times of all answers are known, else at
-- completion; input tokens likewise at the first token, else at completion. Drain after the window
-- is in no rate; a window under 1 s has none, nor tokens where those of a completed answer lack.
-- @param run_ids VARCHAR[] Runs to describe.
-- @param start_us BIGINT Start of the window; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @column run_id VARCHAR The run; absent where the window has no bounds.
-- @column window_s DOUBLE Length of the window in seconds.
-- @column n_completed BIGINT Completions inside the window, whenever they were scheduled.
-- @column tokens_of VARCHAR delivered or completed.
-- @column n_output_tokens DOUBLE Output tokens counted inside the window; NULL is unknown.
-- @column n_input_tokens DOUBLE Prompt tokens counted inside the window; NULL is unknown.
-- @column completed_rps DOUBLE Completions per second.
-- @column output_tokens_per_s DOUBLE Output tokens per second.
-- @column input_tokens_per_s DOUBLE Prompt tokens per second.
-- @column n_without_instant BIGINT Completed requests that no window counts: when is not known.
WITH instants AS (
    SELECT
        *,
        first_token_us >= from_us AND last_token_us < to_us AS inside,
        first_token_us >= from_us AND first_token_us < to_us AS begins,
        completed_us >= from_us AND completed_us < to_us AS completes
    FROM token_instants($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
),

known AS (
    SELECT
        run_id,
        any_value(to_us - from_us) / 1000000.0 AS window_s,
        count(*) FILTER (WHERE output_tokens > 0 AND (n_chunks IS NULL OR first_token_us IS NULL))
        = 0 AS has_chunk_times,
        count(*) FILTER (WHERE outcome = 'completed' AND output_tokens IS NULL) = 0 AS has_output,
        count(*) FILTER (WHERE outcome = 'completed' AND prompt_tokens IS NULL) = 0 AS has_input,
        count(*) FILTER (WHERE outcome = 'completed' AND completes) AS n_completed,
        count(*) FILTER (WHERE outcome = 'completed' AND completes IS NULL) AS n_without_instant,
        sum(output_tokens) FILTER (WHERE completes) AS output_at_completion,
        sum(prompt_tokens) FILTER (WHERE completes) AS input_at_completion,
        sum(output_tokens) FILTER (WHERE inside AND output_tokens > 0) AS output_inside,
        sum(prompt_tokens) FILTER (WHERE begins) AS input_at_first_token
    FROM instants
    GROUP BY run_id
),

counted AS (
    SELECT
        known.*,
        CASE WHEN known.has_chunk_times THEN 'delivered' ELSE 'completed' END AS tokens_of,
        CASE
            WHEN known.has_output AND known.has_chunk_times
                THEN coalesce(known.output_inside, 0) + coalesce(straddling.n_tokens, 0)
            WHEN known.has_output THEN coalesce(known.output_at_completion, 0)
        END::DOUBLE AS n_output_tokens,
        CASE
            WHEN known.has_input AND known.has_chunk_times
                THEN coalesce(known.input_at_first_token, 0)
            WHEN known.has_input THEN coalesce(known.input_at_completion, 0)
        END::DOUBLE AS n_input_tokens
    FROM known
    LEFT JOIN
        straddling_tokens($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT) AS straddling
        USING (run_id)
)

SELECT
    run_id,
    window_s,
    n_completed,
    tokens_of,
    n_output_tokens,
    n_input_tokens,
    CASE WHEN window_s >= 1 THEN n_completed / window_s END AS completed_rps,
    CASE WHEN window_s >= 1 THEN n_output_tokens / window_s END AS output_tokens_per_s,
    CASE WHEN window_s >= 1 THEN n_input_tokens / window_s END AS input_tokens_per_s,
    n_without_instant
FROM counted
WHERE window_s IS NOT NULL
ORDER BY run_id
