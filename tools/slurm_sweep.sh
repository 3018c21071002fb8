#!/usr/bin/env bash
# A sweep on a Slurm cluster: one process a core, shared out by MPI. Send it once more to go on after the time limit.
#
#   sbatch tools/slurm_sweep.sh configs/sweeps/gpt_plans.yaml
#
#SBATCH --job-name=weft-sweep
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=1
#SBATCH --time=02:00:00
#SBATCH --signal=TERM@60
#SBATCH --open-mode=append
set -euo pipefail
sweep=${1:?usage: sbatch tools/slurm_sweep.sh SWEEP.yaml [OPTIONS]}
shift
# The folder must be one that all nodes see; process 0 alone writes the database, in it.
cd "${SLURM_SUBMIT_DIR:-.}"
# `srun --mpi=pmix weft ...` does the same where Slurm was built with PMIx.
exec mpirun weft sweep "$sweep" --resume --quiet "$@"
