"""taut measures, explains and trims the tail latency of software packet processing."""
