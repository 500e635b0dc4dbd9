#!/bin/bash
# Train on several hosts that this one reaches by ssh without a password, with one rank per host and a thread per core:
#   bash examples/mpi-ssh.sh node1,node2,node3 corpus.txt -o vectors.bin --objective neg
# All arguments after the hosts are passed to `w2vtrain fit`. The environment of this shell, with w2vtrain[mpich], and
# the folder of the corpus and outputs must be at the same paths on all hosts. If a host or the network is lost, the
# ranks end, and the loop starts them again until the run has finished. Ctrl-C saves a checkpoint and ends the loop; any
# number of hosts continues the run.
hosts=${1:?expected the hosts, separated by commas, then the arguments of fit}
shift
trap 'exit 75' INT
until mpiexec -hosts "$hosts" -ppn 1 w2vtrain fit "$@" --distributed mpi; do
    code=$?
    case $code in 2 | 65 | 66 | 70 | 71 | 73 | 76 | 78) exit "$code" ;; esac # another start would end in the same way
    sleep 30
done
