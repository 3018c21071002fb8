#!/usr/bin/env bash
# Logs of NCCL under other settings than its own, on four GPUs of this node: threads of a block, buffers, no P2P, calls of a group, one
# thread for all GPUs. No profile is fitted to them. Takes three minutes.
#   validate/nccl_settings/measure.sh PROGRAM FOLDER      PROGRAM: nvcc -std=c++20 loops.cu -lnccl
set -euo pipefail
program=$1 folder=$2
mkdir -p "$folder"
export NCCL_NVLS_ENABLE=0
run() { env "${@:5}" timeout 60 "$program" "$1" "$2" "$3" "$4"; }
for kind in all_reduce all_gather alltoall sendrecv; do
  name=$folder/${kind}_4gpu
  run $kind 1 4 1 >"${name}_one_thread.txt"
  run $kind 4 1 8 >"${name}_m8.txt"
  for setting in "" NCCL_NTHREADS=64 NCCL_NTHREADS=256 NCCL_BUFFSIZE=1048576 NCCL_P2P_DISABLE=1; do
    ending=$(sed -e 's/NCCL_P2P_DISABLE=1/_noP2P/; s/NCCL_\(.*\)=/_\L\1/' <<<"$setting")
    run $kind 4 1 1 $setting >"$name$ending.txt"
    run $kind 4 1 1 $setting NCCL_PROTO=Simple >"$name${ending}_Simple.txt"
  done
done
