#!/bin/bash
# A campaign as an array job of Slurm: each task of the array runs one part.
#
#   sbatch --array=1-16 slurm.sh MANIFEST RESULTS
#
# MANIFEST and RESULTS have to be on storage that all nodes share; RESULTS is a folder, which is made. Each part writes a
# file of its own in it. Parts that were killed, by a time limit or with their node, are run again by the same command:
# cases that have their line are left out. Task numbers have to begin at 1; run again only some of them by naming them,
# with the number of all in ANE_PARTS:
#
#   ANE_PARTS=16 sbatch --array=3,7 slurm.sh MANIFEST RESULTS
#
# When all have ended: ane campaign report RESULTS/*.jsonl --html report.html
#SBATCH --job-name=ane-campaign
#SBATCH --cpus-per-task=1
#SBATCH --mem=5G
#SBATCH --time=01:00:00
#SBATCH --requeue
set -eu
manifest=$1 results=$2
parts=${ANE_PARTS:-$SLURM_ARRAY_TASK_COUNT}
mkdir -p "$results"
# A result that is wrong (exit code 5) is for the report to show; the part itself is done.
"${ANE:-ane}" campaign "$manifest" --shard "$SLURM_ARRAY_TASK_ID/$parts" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --output "$results/$SLURM_ARRAY_TASK_ID.jsonl" || [ $? = 5 ]
