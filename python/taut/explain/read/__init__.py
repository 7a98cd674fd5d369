"""What was recorded: kernel events and who sent what, gaps, packets, counters."""
