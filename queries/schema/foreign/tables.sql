-- Lists the stored tables of a foreign database; its views are not among them.
SELECT table_name
FROM duckdb_tables()
WHERE NOT internal AND schema_name = 'main'
ORDER BY table_name;
