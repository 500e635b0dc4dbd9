"""Read one column of tables as text: of Parquet, Arrow, CSV, TSV and JSON lines, and of data frames in Python."""
