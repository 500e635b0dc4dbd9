#!/bin/bash
#SBATCH --job-name=w2vtrain
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
# Trains on a cluster that may take the node away: 120 s before the end of its time, or when it is pre-empted, the job
# saves, puts itself back in the queue and goes on from there. Submit with
#   sbatch examples/slurm.sh corpus.txt -o vectors.bin --objective neg
# Everything behind the script's name goes to `w2vtrain fit`.

w2vtrain fit "$@" &
training=$!

# SLURM signals this shell, not what it started: pass it on, once, for a second SIGINT would not save.
trap 'kill -TERM "$training" 2>/dev/null' TERM INT

# `wait` comes back when a trap ran: wait again for the training itself, which needs a moment to save.
while true; do
    wait "$training"
    code=$?
    kill -0 "$training" 2>/dev/null || break
done

if [ "$code" -eq 75 ]; then # stopped and saved
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
