#!/usr/bin/python3
"""Writes the manifests beside it, which are what the chart yields for chosen values.

    deploy/kubernetes/render.py [FOLDER]     FOLDER is the one of this script by default

Needs Helm, which deploy/install-helm.sh builds.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HELM = HERE.parents[1] / "build" / "kubernetes" / "helm"
KUBERNETES = "1.37.2"

_SECRET = """\
# The users, and a token for the HTTP port, come from a secret, which must be created first:
#
#   fairlockd --hash-password                       makes the hash for a user's line in users.acl
#   openssl rand -hex 32 > http-token
#   kubectl create secret generic fairlock --from-file=users.acl --from-file=http-token
#
"""
_ETCD = """\
# Before applying this, set the addresses of etcd (--cluster-etcd%s), and create two secrets:
#
#   fairlockd --hash-password                       makes the hash for a user's line in users.acl
#   openssl rand -hex 32 > http-token
#   kubectl create secret generic fairlock --from-file=users.acl --from-file=http-token
#   kubectl create secret generic fairlock-etcd --from-file=ca.pem --from-file=client.pem \\
#     --from-file=client.key
#
"""
_LAST = """\
# Prometheus reads the pods' port 3248: see monitoring.yaml, and docs/KUBERNETES.md. This file is
# what the chart yields; deploy/kubernetes/render.py writes it.
"""

# {name: (comment, Helm's arguments)}
MANIFESTS = {
    "fairlock.yaml": ("""\
# One lock server with its own disk.
#
# Clients use fairlock.NAMESPACE.svc:3247. When the pod moves, its disk moves with it: the locks are
# back as soon as the pod runs, and leases continue. Waiting clients reconnect and keep their
# places.
#
""" + _SECRET + _LAST, []),
    "fleet.yaml": ("""\
# Three nodes of fairlock that share one set of locks, stored in an existing etcd cluster.
#
# Clients use fairlock.NAMESPACE.svc:3247. Every pod answers there: one leads, and the others relay
# to it. When the leader's pod is deleted, another one leads within a second; when its machine dies,
# within a few seconds. The pods have no disk.
#
""" + _ETCD % "" + _LAST, ["--set=mode=fleet"]),
    "partitions.yaml": ("""\
# Four partitions of fairlock that share the keys, each with two nodes, stored in an existing etcd
# cluster.
#
# Clients use the mode for Redis Cluster, with fairlock.NAMESPACE.svc:3247 as the address to start
# from. When a leader's pod is deleted, the partition's other node leads within a second; when its
# machine dies, within a few seconds. The pods have no disk.
#
""" + _ETCD % ", twice" + _LAST,
                        ["--set=mode=fleet", "--set=fleet.partitions=4", "--set=fleet.nodes=8"]),
    "monitoring.yaml": ("""\
# Lets the Prometheus Operator read the metrics of the pods of fairlock.yaml, fleet.yaml or
# partitions.yaml in the same namespace, and alert on them. Add the labels by which your Prometheus
# selects its monitors and rules.
#
# This file is what the chart yields; deploy/kubernetes/render.py writes it.
""", ["--set=monitoring.enabled=true", "--set=monitoring.podsMissing=false",
      "--show-only=templates/podmonitor.yaml", "--show-only=templates/prometheusrule.yaml"]),
}

# What only Helm reads.
_HELMS_OWN = re.compile(r"^# Source: .*\n|^  annotations:\n(?:    helm\.sh/.*\n)+|^ *\n", re.M)


def template(*arguments, chart=HERE / "chart"):
    """Returns what Helm writes for the release `fairlock` in the namespace `default`."""
    return subprocess.run(
        [HELM, "template", "fairlock", chart, "--namespace=default",
         f"--kube-version={KUBERNETES}", *arguments],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def manifest(name):
    comment, arguments = MANIFESTS[name]
    text = _HELMS_OWN.sub("", template(*arguments))
    return comment + text


def main(arguments):
    folder = pathlib.Path(arguments[1]) if len(arguments) > 1 else HERE
    for name in MANIFESTS:
        (folder / name).write_text(manifest(name))


if __name__ == "__main__":
    main(sys.argv)
