#!/bin/bash
# A campaign in 16 parts by GNU parallel, on this machine or on those of --sshloginfile:
#
#   parallel.sh MANIFEST RESULTS [OPTIONS OF PARALLEL...]
#
# RESULTS is a folder, which is made. The same command goes on where one that was killed stopped.
set -eu
manifest=$1 results=$2 parts=${ANE_PARTS:-16}
shift 2
mkdir -p "$results"
# A result that is wrong (exit code 5) is for the report to show; the part itself is done.
seq "$parts" | parallel "$@" \
    "$(printf %q "${ANE:-ane}") campaign $(printf %q "$manifest") --shard {}/$parts --jobs 1 --quiet --output $(printf %q "$results")/{}.jsonl || [ \$? = 5 ]"
"${ANE:-ane}" campaign report "$results"/*.jsonl
