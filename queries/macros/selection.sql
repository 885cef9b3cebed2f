-- Which requests a number counts: runs, window and stratum.

-- The last instant at which anything is known of a request. A latency counts from the send; where
-- that is unknown, from the schedule.
CREATE MACRO last_known_us(scheduled_us, sent_us, ended_us, latency_us) AS
    coalesce(coalesce(sent_us, scheduled_us) + latency_us, ended_us, sent_us, scheduled_us);

-- Whether the run ended before it could be known what becomes of a request.
CREATE MACRO is_open(outcome) AS
    outcome IN ('cut_off', 'not_sent', 'unaccounted');

CREATE MACRO origin_used(wanted, n_placed, has_schedule) AS
    CASE
        WHEN n_placed = 0 THEN 'none'
        WHEN wanted = 'scheduled' AND has_schedule THEN 'scheduled'
        ELSE 'sent'
    END;

-- Requests of the window [start_us, end_us) over arrivals: scheduled times, or sends where earlier. A NULL end
-- is the run's own. Without any times the window cannot be applied and every request counts; a
-- request without a time in a run that has times counts only where no window was asked for.
CREATE MACRO is_in_window(arrival_us, n_placed, first_us, last_us, start_us, end_us) AS
    CASE
        WHEN n_placed = 0 THEN TRUE
        WHEN arrival_us IS NULL THEN start_us IS NULL AND end_us IS NULL
        ELSE arrival_us >= coalesce(start_us, first_us) AND arrival_us < coalesce(end_us, last_us)
    END;

-- One end of the window in force: the one asked for, else the run's own; NULL without any times.
CREATE MACRO window_end(asked_us, own_us, n_placed) AS
    CASE WHEN n_placed > 0 THEN coalesce(asked_us, own_us) END;

CREATE MACRO windowed(run_ids, start_us, end_us) AS TABLE
SELECT
    requests.*,
    bounds.n_placed,
    bounds.has_schedule,
    bounds.last_seen_us,
    arrived_us(requests.scheduled_us, requests.sent_us) AS arrival_us
FROM requests
INNER JOIN bounds USING (run_id)
WHERE
    list_contains(run_ids, requests.run_id)
    AND requests.phase = 'measured'
    AND is_in_window(
        arrived_us(requests.scheduled_us, requests.sent_us),
        bounds.n_placed,
        bounds.first_us,
        bounds.last_us,
        start_us,
        end_us
    );

-- The same with warm-up requests, for the split by phase only.
CREATE MACRO windowed_or_warmup(run_ids, start_us, end_us, stratum) AS TABLE
SELECT * FROM windowed(run_ids, start_us, end_us)
UNION ALL BY NAME
SELECT
    requests.*,
    bounds.n_placed,
    bounds.has_schedule,
    bounds.last_seen_us,
    arrived_us(requests.scheduled_us, requests.sent_us) AS arrival_us
FROM requests
INNER JOIN bounds USING (run_id)
WHERE
    stratum = 'phase'
    AND requests.phase = 'warmup'
    AND list_contains(run_ids, requests.run_id);
