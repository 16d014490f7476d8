"""What a host of either era gets, and what of a request is its connection's alone."""

from typing import Any

import mcp.types as mcp_types
import pytest
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.types import version as sdk_versions

from mcp_gate.wire import eras, messages

CALL: dict[str, Any] = {"content": [], "isError": False, "custom": {"resultType": "inner"}}


@pytest.mark.parametrize(
    ("result", "modern", "seen"),
    [
        (CALL, False, CALL),
        (CALL, True, {**CALL, "resultType": "complete"}),
        ({**CALL, "resultType": "complete"}, False, CALL),
        ({**CALL, "resultType": "complete"}, True, {**CALL, "resultType": "complete"}),
        ({**CALL, "resultType": "task"}, True, {**CALL, "resultType": "task"}),
        ({**CALL, "resultType": None}, True, {**CALL, "resultType": "complete"}),
        ({}, True, {"resultType": "complete"}),
    ],
)
def test_a_result_carries_its_type_to_a_modern_host_and_to_no_other(
    result: dict[str, Any], modern: bool, seen: dict[str, Any]
) -> None:
    before = dict(result)
    assert eras.complete_result(result, modern=modern) == seen
    assert result == before


def test_a_list_is_stale_at_once_for_a_modern_host_and_plain_for_a_legacy_one() -> None:
    tools: dict[str, Any] = {"tools": []}
    assert eras.list_result(tools, modern=False) == tools
    assert eras.list_result(tools, modern=True) == {
        "tools": [],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }
    assert tools == {"tools": []}


@pytest.mark.parametrize("params", [None, {}, {"_meta": None}, {"_meta": []}, {"_meta": "x"}, {"meta": {"a": 1}}])
def test_what_has_no_meta_has_an_empty_one(params: dict[str, Any] | None) -> None:
    assert eras.meta_of(params) == {}


def test_the_envelope_and_the_token_stay_behind_and_the_rest_of_the_meta_goes_along() -> None:
    own = {"traceparent": "00-1", "io.modelcontextprotocol/logLevel": "debug", "example.com/x": {"y": [1]}}
    meta = {**eras.envelope({"elicitation": {}}), "progressToken": 0, **own}
    assert eras.without_envelope(meta) == own


def test_the_envelope_names_the_revision_the_gate_and_the_hosts_capabilities() -> None:
    assert eras.envelope({"sampling": {}}) == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": eras.IMPLEMENTATION,
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    }


def test_revisions_keys_and_codes_are_the_sdks() -> None:
    assert list(eras.LEGACY_VERSIONS) == list(sdk_versions.HANDSHAKE_PROTOCOL_VERSIONS)
    assert list(eras.MODERN_VERSIONS) == list(sdk_versions.MODERN_PROTOCOL_VERSIONS)
    assert eras.VERSION_KEY == mcp_types.PROTOCOL_VERSION_META_KEY
    assert eras.CLIENT_INFO_KEY == mcp_types.CLIENT_INFO_META_KEY
    assert eras.CLIENT_CAPABILITIES_KEY == mcp_types.CLIENT_CAPABILITIES_META_KEY
    assert eras.SERVER_INFO_KEY == mcp_types.SERVER_INFO_META_KEY
    assert eras.SUBSCRIPTION_KEY == SUBSCRIPTION_ID_META_KEY
    assert messages.CONNECTION_CLOSED == mcp_types.CONNECTION_CLOSED
    assert messages.REQUEST_TIMEOUT == mcp_types.REQUEST_TIMEOUT
    assert messages.UNSUPPORTED_VERSION == mcp_types.UNSUPPORTED_PROTOCOL_VERSION
