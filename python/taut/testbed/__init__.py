"""Links, namespaces, processes, hugepages; all found by name after a crash."""
