-- Waiting, paused and active requests and cache use of runs over one window, weighted by time.
--
-- Waiting for admission and paused after a start are two things and are never added. A mean counts
-- the part of each sample that lies inside the window; a maximum is over samples that touch it. A
-- counter runs since the server started: what it rose by is its last value less its first, and
-- unknown where it fell, for the server was then started again.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @param start_us BIGINT Start of the window; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @column run_id VARCHAR The run; no row where no state was recorded in the window.
-- @column n_samples BIGINT Samples that touch the window.
-- @column mean_running DOUBLE Mean number of active requests; NULL where it is not recorded.
-- @column mean_waiting DOUBLE Mean number waiting for admission; NULL where it is not recorded.
-- @column max_waiting INTEGER Most waiting for admission at once.
-- @column mean_paused DOUBLE Mean number paused after a start; NULL where it is not recorded.
-- @column max_paused INTEGER Most paused at once.
-- @column mean_kv_fraction DOUBLE Mean share of the cache in use; NULL where it is not recorded.
-- @column max_kv_fraction DOUBLE Highest share of the cache in use.
-- @column n_preemptions BIGINT Preemptions the server counted; NULL where it is not recorded.
-- @column n_prefix_hits BIGINT Prompt tokens found in the cache; NULL where it is not recorded.
-- @column n_prefix_queries BIGINT Prompt tokens looked up in the cache; NULL where not recorded.
WITH sampled AS (
    SELECT
        state.*,
        window_end($start_us::BIGINT, bounds.first_us, bounds.n_placed) AS from_us,
        window_end($end_us::BIGINT, bounds.last_us, bounds.n_placed) AS to_us
    FROM state
    LEFT JOIN bounds USING (run_id)
    WHERE list_contains($run_ids::VARCHAR[], state.run_id)
),

held AS (
    SELECT
        *,
        greatest(
            least(at_us + coalesce(duration_us, 0), coalesce(to_us, 9e18::BIGINT))
            - greatest(at_us, coalesce(from_us, at_us)),
            0
        ) AS inside_us
    FROM sampled
    WHERE
        at_us < coalesce(to_us, 9e18::BIGINT)
        AND (at_us >= coalesce(from_us, at_us) OR at_us + duration_us > from_us)
)

SELECT
    run_id,
    count(*) AS n_samples,
    sum(running * inside_us) / nullif(sum(inside_us) FILTER (WHERE running IS NOT NULL), 0)
        AS mean_running,
    sum(waiting * inside_us) / nullif(sum(inside_us) FILTER (WHERE waiting IS NOT NULL), 0)
        AS mean_waiting,
    max(waiting) AS max_waiting,
    sum(paused * inside_us) / nullif(sum(inside_us) FILTER (WHERE paused IS NOT NULL), 0)
        AS mean_paused,
    max(paused) AS max_paused,
    sum(kv_fraction * inside_us)
    / nullif(sum(inside_us) FILTER (WHERE kv_fraction IS NOT NULL), 0) AS mean_kv_fraction,
    max(kv_fraction) AS max_kv_fraction,
    rise(arg_min(preemptions_total, at_us), arg_max(preemptions_total, at_us)) AS n_preemptions,
    rise(arg_min(prefix_hits_total, at_us), arg_max(prefix_hits_total, at_us)) AS n_prefix_hits,
    rise(arg_min(prefix_queries_total, at_us), arg_max(prefix_queries_total, at_us))
        AS n_prefix_queries
FROM held
GROUP BY run_id
ORDER BY run_id
