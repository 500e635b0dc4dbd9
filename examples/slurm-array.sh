#!/bin/bash
#SBATCH --job-name=w2vtrain-array
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
# Train one model per task of a job array, with the settings on line N of a file for task N. Submit it with
#   sbatch --array=1-20 examples/slurm-array.sh runs.txt corpus.txt
# All arguments after the file's name are passed to each `w2vtrain fit`. Task N writes vectors-N.bin; it saves, requeues
# itself and resumes as the job in slurm.sh does.
set -fu  # no globbing in the settings
list=${1:?expected the file of settings, then the corpus}
shift
: "${SLURM_ARRAY_TASK_ID:?submit with sbatch --array=1-N}"
settings=$(sed -n "${SLURM_ARRAY_TASK_ID}p" "$list")
if [ -z "$settings" ]; then
    echo "slurm-array.sh: $list has no line $SLURM_ARRAY_TASK_ID" >&2
    exit 2
fi

# $settings is not quoted, so that the line is split into separate options.
# shellcheck disable=SC2086
w2vtrain fit "$@" $settings -o "vectors-$SLURM_ARRAY_TASK_ID.bin" &
training=$!

# SLURM signals only this shell, so pass the signal on, always as SIGTERM: a second SIGINT would stop without saving.
trap 'kill -TERM "$training" 2>/dev/null' TERM INT

# A signal also ends `wait`, so wait until the training itself has saved and ended.
while kill -0 "$training" 2>/dev/null; do
    wait "$training"
done
wait "$training"
code=$?

if [ "$code" -eq 75 ]; then # stopped by a signal: the same command continues
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit "$code"
