#!/usr/bin/env python3
"""Lists what a release is made of, as CycloneDX 1.5 in JSON, on standard output (an SBOM).

usage: release_contents.py --version V --commit C --date SECONDS --resolved FILE --checkouts DIR --tree DIR

  --resolved    Package.resolved: the Swift packages with versions and revisions
  --checkouts   their sources, where the licences are
  --tree        the release, with bin/, lib/ and console/
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import uuid

NAMESPACE = uuid.UUID("6f1f6b7e-5d0c-4a53-9d55-0c7c1f3f0c5a")  # Of serial numbers: the same release has the same.
LICENCE_BYTES = 4000
# The first that fits; a licence that none fits is named after its file.
LICENCES = [
    (r"Apache License\s+Version 2\.0[\s\S]*Runtime Library Exception", "Apache-2.0 WITH Swift-exception"),
    (r"Apache License\s+Version 2\.0", "Apache-2.0"),
    (r"Permission is hereby granted, free of charge", "MIT"),
    (r"Redistribution and use in source and binary forms[\s\S]*Neither the name", "BSD-3-Clause"),
    (r"Redistribution and use in source and binary forms", "BSD-2-Clause"),
]


def licence(folder):
    """The SPDX expression of the licence in a folder; nothing where there is none."""
    for path in sorted(folder.glob("LICEN[CS]E*")):
        text = path.read_text(errors="replace")
        for pattern, name in LICENCES:
            if re.search(pattern, text):
                return [{"expression": name}]
        return [{"license": {"name": path.name, "text": {"content": text[:LICENCE_BYTES]}}}]
    return []


def swift_packages(resolved, checkouts):
    for pin in sorted(json.loads(resolved.read_text())["pins"], key=lambda pin: pin["identity"]):
        state, location = pin["state"], re.sub(r"\.git$", "", pin["location"])
        version = state.get("version", state["revision"])
        name = location.rpartition("/")[2]
        yield {
            "type": "library", "bom-ref": f"swift/{pin['identity']}", "name": name, "version": version,
            "purl": f"pkg:swift/{re.sub(r'^https?://', '', location)}@{version}", "licenses": licence(checkouts / name),
            "externalReferences": [{"type": "vcs", "url": location}],
            "properties": [{"name": "countersign:revision", "value": state["revision"]}]}


def output(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def native_libraries():
    """What is linked and is no Swift package: two C libraries, and Swift's own."""
    swift = re.search(r"Swift version ([\d.]+)", output("swift", "--version"))
    for name, version, terms, holder in (
            ("librdkafka", output("pkg-config", "--modversion", "rdkafka"), "BSD-2-Clause", "inside, in lib/"),
            ("libpq", output("pkg-config", "--modversion", "libpq"), "PostgreSQL", "of the system; built against"),
            ("swift-runtime", swift[1] if swift else "unknown", "Apache-2.0 WITH Swift-exception", "inside, in lib/")):
        yield {"type": "library", "bom-ref": f"native/{name}", "name": name, "version": version,
               "purl": f"pkg:generic/{name}@{version}", "licenses": [{"expression": terms}],
               "properties": [{"name": "countersign:place", "value": holder}]}


def scripts(tree):
    """What browsers get of others: htmx, which says its version by itself."""
    for path in tree.glob("console/htmx.min.js"):
        version = re.search(r'version:"([\d.]+)"', path.read_text())
        yield {"type": "library", "bom-ref": "script/htmx", "name": "htmx", "version": version[1] if version else "unknown",
               "purl": f"pkg:npm/htmx.org@{version[1] if version else 'unknown'}", "licenses": [{"expression": "0BSD"}],
               "properties": [{"name": "countersign:place", "value": "inside, in console/"}]}


def files(tree):
    for path in sorted([*tree.glob("bin/*"), *tree.glob("lib/*"), *tree.glob("console/*")]):
        yield {"type": "file", "bom-ref": f"file/{path.relative_to(tree)}", "name": str(path.relative_to(tree)),
               "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("version", "commit"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--date", type=int, required=True)
    for name in ("resolved", "checkouts", "tree"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    options = parser.parse_args()
    components = [*swift_packages(options.resolved, options.checkouts), *native_libraries(), *scripts(options.tree),
                  *files(options.tree)]
    date = datetime.datetime.fromtimestamp(options.date, datetime.timezone.utc)
    product = {"type": "application", "bom-ref": "countersign", "name": "countersign", "version": options.version,
               "licenses": [{"expression": "Apache-2.0"}],
               "properties": [{"name": "countersign:commit", "value": options.commit}]}
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, f'{options.version} {options.commit}')}",
        "metadata": {"timestamp": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": product},
        "components": components,
        "dependencies": [{"ref": "countersign", "dependsOn": [
            component["bom-ref"] for component in components if component["type"] == "library"]}]}
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
