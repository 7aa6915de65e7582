"""The pod of one command of the operator's tool, made of the job `countersign-tool`, which never runs.

usage: kubectl get job countersign-tool --output json | tool_pod.py NAME [ARGUMENTS OF COUNTERSIGN]
"""

import json
import sys

DEADLINE_SECONDS = 3_600  # A command that takes longer is ended, and so is one whose image is not found.


def pod_of(job, name, arguments):
    """The job's template as a pod of that name; its labels are what network policies go by."""
    template = job["spec"]["template"]
    spec = {**template["spec"], "activeDeadlineSeconds": DEADLINE_SECONDS}
    spec["containers"] = [{**spec["containers"][0], "args": arguments}]
    labels = {key: value for key, value in template["metadata"]["labels"].items()
              if key.startswith("app.kubernetes.io/")}  # Others are the job's controller's own.
    metadata = {"name": name, "labels": labels}
    if "namespace" in job["metadata"]:
        metadata["namespace"] = job["metadata"]["namespace"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


if __name__ == "__main__":
    json.dump(pod_of(json.load(sys.stdin), sys.argv[1], sys.argv[2:]), sys.stdout)
