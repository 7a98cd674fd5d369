"""The verdict of each gap and packet, with its grade, and where a gap's time went."""
