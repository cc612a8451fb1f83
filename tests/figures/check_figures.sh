#!/usr/bin/env bash
# Measures one section of bench/compare.sh and compares its figures with bars.txt.
#
#   check_figures.sh SECTION BUILD_DIR [--full]
#
# Without --full, it runs the quick form, whose bars are in the last column.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
section=$1
build=$2
form=${3:---quick}

results=$(mktemp)
trap 'rm -f "$results"' EXIT
options=(--section "$section" --build "$build" --results "$results")
[ "$form" = --full ] || options+=(--quick)
"$here/../../bench/compare.sh" "${options[@]}"

awk -v section="$section" -v column="$([ "$form" = --full ] && echo 3 || echo 4)" '
  FNR == NR { value[$1] = $2; next }
  index($1, section ".") != 1 { next }
  {
    ++bars
    bar = $column
    is_kept = ($1 in value) && ($2 == "<=" ? value[$1] + 0 <= bar + 0 : value[$1] + 0 >= bar + 0)
    printf "%-46s %12s  %s %-8s %s\n", $1, ($1 in value) ? value[$1] : "missing", $2, bar,
           is_kept ? "" : "NOT KEPT"
    if (!is_kept) ++broken
  }
  END { exit (broken > 0 || bars == 0) }
' "$results" "$here/bars.txt"
