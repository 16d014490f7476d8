"""The two protocol eras on the wire, as plain dicts.

| era | revisions | how a peer is known to speak it | what its results carry |
| --- | --- | --- | --- |
| legacy | up to 2025-11-25 | the connection was initialized | nothing of the below |
| modern | 2026-07-28 | every request has the `_meta` envelope | `resultType`; lists also `ttlMs`, `cacheScope` |
"""

from collections.abc import Mapping
from typing import Any

from mcp_gate import __version__

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
LATEST_LEGACY = LEGACY_VERSIONS[-1]
LATEST_MODERN = MODERN_VERSIONS[-1]

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ENVELOPE_KEYS = frozenset({VERSION_KEY, CLIENT_INFO_KEY, CLIENT_CAPABILITIES_KEY})

IMPLEMENTATION = {"name": "mcp-gate", "title": "mcp-gate", "version": __version__}


def meta_of(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The `_meta` of a request's params, empty where there is none or it is no object."""
    meta = (params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def envelope(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` keys that every request to a modern server carries."""
    return {
        VERSION_KEY: LATEST_MODERN,
        CLIENT_INFO_KEY: IMPLEMENTATION,
        CLIENT_CAPABILITIES_KEY: dict(capabilities),
    }


def without_envelope(meta: Mapping[str, Any]) -> dict[str, Any]:
    """A request's `_meta` without what belongs to one connection alone: the envelope and the progress token."""
    return {key: value for key, value in meta.items() if key not in ENVELOPE_KEYS and key != "progressToken"}


def complete_result(result: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """A server's result as a host of that era must see it; anything else in it is left alone."""
    if modern:
        return {**result, "resultType": "complete"} if result.get("resultType") is None else result
    return {key: value for key, value in result.items() if key != "resultType"} if "resultType" in result else result


def list_result(result: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """The gate's own list result for a host of that era. It may change at any time, so it is stale at once."""
    return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else result
