"""Virtual machines as places for a device: Debian's kernel, busybox and taut's own programs."""
