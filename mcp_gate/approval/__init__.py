"""Approvals: the question put to a person, and the one answer that settles it."""
