"""An explanation as a JSON document and as a Perfetto trace."""
