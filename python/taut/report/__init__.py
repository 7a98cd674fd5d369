"""What a reader sees: the terminal table and the HTML report with its figures."""
