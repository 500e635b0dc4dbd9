#!/bin/bash
# Train on several hosts that this one reaches by ssh without a password, with one rank per host and a thread per core:
#   bash examples/mpi-ssh.sh node1,node2,node3 corpus.txt -o vectors.bin --objective neg
# All arguments after the hosts are passed to `w2vtrain fit`. The environment of this shell, with w2vtrain[mpich], and
# the folder of the corpus and outputs must be at the same paths on all hosts. Lost hosts and hanging networks end the
# ranks, and `supervise` starts them again, with growing delays: ten attempts without advance give a host four minutes to
# come back. Without it, leave its name out and run the same command: any number of hosts continues the run.
hosts=${1:?expected the hosts, separated by commas, then the arguments of fit}
shift
exec w2vtrain supervise -- mpiexec -hosts "$hosts" -ppn 1 w2vtrain fit "$@" --distributed mpi
