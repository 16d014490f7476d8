"""Newline-delimited JSON-RPC over pipes: bytes in, dicts out, nothing rebuilt on the way."""
