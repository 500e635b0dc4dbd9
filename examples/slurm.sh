#!/bin/bash
#SBATCH --job-name=w2vtrain
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
# Train on a cluster with time limits: 120 s before its limit, or when the cluster signals this script before preemption,
# the job saves a checkpoint and requeues itself, and the requeued job resumes. Submit it with
#   sbatch examples/slurm.sh corpus.txt -o vectors.bin --objective neg
# All arguments after the script's name are passed to `w2vtrain fit`.

w2vtrain fit "$@" &
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
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
