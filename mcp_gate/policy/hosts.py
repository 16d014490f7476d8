"""Hosts of URLs: the names and addresses that one may stand for, however it is spelled."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

LONGEST_HOST = 253
# IPv6 prefixes whose last four bytes are an IPv4 address: mapped, compatible, NAT64.
CARRIES_IPV4 = (bytes(10) + b"\xff\xff", bytes(12), bytes.fromhex("0064ff9b") + bytes(8))
HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
CUT = re.compile(r"[\s\x00]+")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")


def host_doubt(host: str) -> str:
    """What keeps a lower-case host from being allowed."""
    if not host:
        return "no host"
    if not host.isascii():
        return "a host that is not ASCII"
    if "%" in host:
        return "an encoded host"
    if host.endswith("."):
        return "a host that ends with a dot"
    if host.startswith("["):
        return "" if host.endswith("]") and _ipv6(host) else "a host that is no IPv6 address"
    if not HOST.fullmatch(host) or len(host) > LONGEST_HOST:
        return "a host that is no name"
    if NUMBER.fullmatch(host.rpartition(".")[2]) and list(_ipv4s(host)) != [host]:
        return "a host that spells an address in an odd way"
    return ""


def host_names(host: str) -> tuple[str, ...]:
    """Every lower-case name and address that a host, or the host of a pattern, may be taken for."""
    plain = host if host.isascii() else unicodedata.normalize("NFKC", host).replace("\u3002", ".")
    plain = plain.lower().strip()
    names = [name.rstrip(".") for name in dict.fromkeys((plain, CUT.split(plain, maxsplit=1)[0]))]
    if not plain.isascii() or "xn--" in plain:
        names += [relabelled(name, codec) for name in names for codec in (idna_mapped, idna_direct, _shown)]
    return tuple(dict.fromkeys([*names, *(address for name in names for address in _addresses(name))]))


def relabelled(host: str, codec: Callable[[str], str]) -> str:
    """The host with each label recoded where it can be. The codecs are slow, so that what is too long stays."""

    def recoded(label: str) -> str:
        try:
            return codec(label)
        except UnicodeError:
            return label

    return ".".join(map(recoded, host.split("."))) if len(host) <= LONGEST_HOST else host


def idna_mapped(label: str) -> str:
    """As IDNA 2003 has it, which takes `ß` for `ss`."""
    return label if label.isascii() else label.encode("idna").decode("ascii")


def idna_direct(label: str) -> str:
    """As IDNA 2008 has it."""
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _shown(label: str) -> str:
    return label.encode("ascii").decode("idna") if label.startswith("xn--") else label


def _addresses(name: str) -> Iterator[str]:
    if ":" not in name:
        yield from _ipv4s(name)
    elif address := _ipv6(name):
        yield f"[{address.compressed}]"
        if address.packed[:12] in CARRIES_IPV4:
            yield str(IPv4Address(address.packed[12:]))


def _ipv6(host: str) -> IPv6Address | None:
    try:
        return IPv6Address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return None


def _ipv4s(host: str) -> Iterator[str]:
    """The addresses that one to four numbers stand for, the last filling what is left of four bytes."""
    parts = host.split(".")
    if len(parts) > 4 or not all(map(NUMBER.fullmatch, parts)) or len(host) > LONGEST_HOST:
        return
    found = set()
    for octal in (True, False):
        *high, low = (_number(part, octal=octal) for part in parts)
        if all(number < 256 for number in high) and low < 256 ** (4 - len(high)):
            found.add(str(IPv4Address(int.from_bytes(bytes(high).ljust(4, b"\0")) + low)))
    yield from sorted(found)


def _number(text: str, *, octal: bool) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if octal and text.startswith("0") and not set(text) & set("89") else int(text)


def canonical(host: str) -> str:
    address = _ipv6(host) if host.startswith("[") else None
    return f"[{address.compressed}]" if address else host
