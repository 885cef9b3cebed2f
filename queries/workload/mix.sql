-- How varied the offered requests of each run are, and which kinds of them there are.
--
-- A spread is the standard deviation ÷ the mean: near zero means that every request is alike.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @column run_id VARCHAR The run.
-- @column prompt_spread DOUBLE Spread of the prompt lengths; NULL where they are not recorded.
-- @column output_spread DOUBLE Spread of the output lengths asked for, else delivered.
-- @column arrival_spread DOUBLE Spread of the times between arrivals; 1 for Poisson arrivals.
-- @column n_in_groups BIGINT Requests whose prefix group is recorded.
-- @column n_eligible BIGINT Of these, how many were not the first of their group; warm-up counts.
-- @column n_cached_known BIGINT Requests whose cached tokens are recorded.
-- @column n_hits BIGINT Of these, how many found cached tokens.
-- @column n_segmented BIGINT Requests whose segment of the load is recorded.
-- @column n_burst BIGINT Of these, how many belong to a burst.
WITH chosen AS (
    SELECT
        requests.*,
        coalesce(requests.requested_output_tokens, requests.output_tokens) AS wanted_tokens,
        arrived.place_in_group,
        coalesce(requests.scheduled_us, requests.sent_us)
        - lag(coalesce(requests.scheduled_us, requests.sent_us)) OVER (
            PARTITION BY requests.run_id ORDER BY requests.place
        ) AS apart_us
    FROM requests
    INNER JOIN prefix_places($run_ids::VARCHAR[]) AS arrived
        USING (run_id, phase, request_index)
    WHERE requests.phase = 'measured'
)

SELECT
    run_id,
    stddev_samp(prompt_tokens) / nullif(avg(prompt_tokens), 0) AS prompt_spread,
    stddev_samp(wanted_tokens) / nullif(avg(wanted_tokens), 0) AS output_spread,
    stddev_samp(apart_us) / nullif(avg(apart_us), 0) AS arrival_spread,
    count(prefix_group) AS n_in_groups,
    count(*) FILTER (WHERE prefix_group IS NOT NULL AND place_in_group > 1) AS n_eligible,
    count(cached_tokens) AS n_cached_known,
    count(*) FILTER (WHERE cached_tokens > 0) AS n_hits,
    count(segment) AS n_segmented,
    count(*) FILTER (WHERE segment = 'burst') AS n_burst
FROM chosen
GROUP BY run_id
ORDER BY run_id
