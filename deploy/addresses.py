"""The addresses of this machine that servers of deploy/ listen on, and how they are written."""

LOOPBACKS = ["127.0.0.1", "::1"]  # The first is taken unless somebody asks for the other.


def authority(address, port):
    """Address and port as in a URL, where an IPv6 address stands in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
