"""Where recorded measurements are asked questions: Parquet in, Arrow out."""
