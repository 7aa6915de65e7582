"""Reads what a service tells of itself at /metrics."""

import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PUBLISHED, HANDLED = "countersign_messages_published_total{", "countersign_messages_handled_total{"
OF_VERDICTS, DELIVERED = 'topic="countersign.verdicts"', 'result="delivered"'


def metric_lines(url):
    """The lines of the process whose administrative address this is; none while it does not answer."""
    try:
        with OPENER.open(f"{url}/metrics", timeout=10) as answer:
            return answer.read().decode().splitlines()
    except OSError:
        return []


def selected(lines, name, *labels):
    """Those of a name that have these labels."""
    return [line for line in lines if line.startswith(name) and all(label in line for label in labels)]


def counted(lines, name, *labels):
    """The sum of a counter's values."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in selected(lines, name, *labels))
