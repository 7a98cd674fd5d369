"""What makes settings last: kernel parameters and files that are read while a machine boots."""
