"""Logging: structlog to stderr, one line a record, everything in it escaped. stdout belongs to the protocol."""

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog


class _Bearing:
    """stderr that may be closed, full or gone: a record is lost then, but nothing fails for it."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


def configure(level: str) -> None:
    """Send every record of `level` and above to stderr, those of libraries too (from warning up)."""
    stderr = cast("TextIO", _Bearing())
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(stream=stderr, level=max(number, logging.WARNING), format="%(levelname)s %(name)s %(message)r")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            # repr of every value: nothing that a server wrote can start a line or steer a terminal
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(stderr),
        cache_logger_on_first_use=False,
    )
