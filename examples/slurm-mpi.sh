#!/bin/bash
#SBATCH --job-name=w2vtrain-mpi
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=TERM@300
# Train on several nodes, with one rank per node and a thread per CPU of its task. Corpus and outputs must be on storage
# that all nodes share, and mpi4py must use MPICH, as `pip install w2vtrain[mpich]` installs it. Submit it with
#   sbatch examples/slurm-mpi.sh corpus.txt -o vectors.bin --objective neg
# All arguments after the script's name are passed to `w2vtrain fit`. 300 s before its time limit, SLURM signals the
# ranks, not this script: they save a checkpoint and end with code 75, the job requeues itself, and the requeued job
# resumes. The same happens if a rank does not answer for `--sync-timeout` seconds. If a node is lost, SLURM requeues the
# job.

# Since SLURM 22.05, srun does not inherit --cpus-per-task. A rank that ends first must not end rank 0, which may still
# be saving.
srun --mpi=pmi2 --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=0 w2vtrain fit "$@" --distributed mpi
code=$?

if [ "$code" -eq 75 ]; then # stopped: the same command continues
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
