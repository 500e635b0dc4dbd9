#!/bin/bash
#SBATCH --job-name=w2vtrain-mpi
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@300
# Train on several nodes, with one rank per node and a thread per CPU of its task. Corpus and outputs must be on storage
# that all nodes share, and mpi4py must use MPICH, as `pip install w2vtrain[mpich]` installs it. Submit it with
#   sbatch examples/slurm-mpi.sh corpus.txt -o vectors.bin --objective neg
# All arguments after the script's name are passed to `w2vtrain fit`. `supervise` restarts the ranks if one fails or
# hangs. 300 s before its time limit the job saves a checkpoint and requeues itself, and the requeued job resumes. If a
# node is lost, SLURM requeues the job. The job succeeds only if the record beside the vectors names this run.

# srun would kill the ranks on SIGTERM, so SLURM signals them itself. Since SLURM 22.05, srun does not inherit
# --cpus-per-task. A rank that ends first must not end rank 0, which may still be saving.
w2vtrain supervise --stop "scancel --quiet --signal=TERM $SLURM_JOB_ID" -- \
    srun --mpi=pmi2 --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=0 \
    w2vtrain fit "$@" --distributed mpi &
supervisor=$!

# SLURM signals only this shell, so pass the signal on.
trap 'kill -TERM "$supervisor" 2>/dev/null' TERM INT

# A signal also ends `wait`, so wait until the supervisor itself has ended.
while kill -0 "$supervisor" 2>/dev/null; do
    wait "$supervisor"
done
wait "$supervisor"
code=$?

if [ "$code" -eq 75 ]; then # stopped by a signal: the same command continues
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
