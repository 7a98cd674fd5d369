"""Where recorded measurements are asked questions: one SQL engine at a time, Parquet in, Arrow out."""
