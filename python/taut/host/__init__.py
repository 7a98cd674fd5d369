"""What the machine is; reads only."""
