#!/usr/bin/env bash
# Changes the path of the Go module, which clients/go/go.mod names, wherever it is written.
#
#   deploy/set_go_module_path.sh PATH
#
# PATH is the address of the repository, then /clients/go, and from version 2 on the suffix /v2. The
# tags of its versions are clients/go/v0.1.0 and so on.
set -euo pipefail
cd "$(dirname "$0")/.."

new=${1:?"usage: deploy/set_go_module_path.sh PATH"}
old=$(sed -n 's/^module //p' clients/go/go.mod)
git grep -lzF "$old" | xargs -0 sed -i "s|${old//./\\.}|$new|g"
