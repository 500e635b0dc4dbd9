"""Train one model on several processes, on one machine or many: the ranks of an MPI job, each with a full replica."""
