"""Who had the core, from when to when: the exclusive timeline, stalls, the kernel's steps."""
