-- Which requests could have found their prefix in the cache. Places are those of the whole run and
-- its warm-up: a prefix does not turn cold because a window begins.

CREATE MACRO prefix_label(prefix_group, place) AS
    CASE
        WHEN prefix_group IS NULL THEN 'prefix group not recorded'
        WHEN place = 1 THEN 'cold: first of its prefix group'
        ELSE 'eligible for a warm prefix'
    END;

CREATE MACRO prefix_places(run_ids) AS TABLE
SELECT
    run_id,
    phase,
    request_index,
    row_number() OVER (
        PARTITION BY run_id, prefix_group
        ORDER BY phase = 'measured', arrived_us(scheduled_us, sent_us), request_index
    ) AS place_in_group
FROM requests
WHERE list_contains(run_ids, run_id);
