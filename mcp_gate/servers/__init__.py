"""The configured servers: one process and one owner task each."""
