"""The files of a run: binary records, Parquet, the run directory."""
