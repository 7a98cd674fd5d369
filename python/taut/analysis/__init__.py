"""From recorded packets to numbers with their support, episodes and a verdict."""
