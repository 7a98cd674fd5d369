"""`taut explain --self-test`: causes made on purpose, recorded, judged and told."""
