#!/bin/sh
# Runs one study from a clean clone: configs/studies/run.sh fabric_shape. Writes result.json, numbers.md, page.html and, where
# Python has matplotlib, picture.png into the folder OUT (default: build/studies/NAME). WEFT names the program (default: the first
# of build/*/bin/weft), PYTHON the interpreter.
set -eu
cd "$(dirname "$0")/../.."
name=${1:?"name of a study: $(ls -d configs/studies/*/ | xargs -n1 basename | tr '\n' ' ')"}
study=configs/studies/$name
weft=${WEFT:-$(ls build/*/bin/weft | head -n 1)}
out=${OUT:-build/studies/$name}
mkdir -p "$out"
books="--prices list_2024 --power datasheets"
case $name in
  fabric_shape)
    "$weft" compare $study/collectives.yaml $books --json "$out/result.json" --clusters $study/rail_optimized.yaml \
      $study/rail_only.yaml $study/fat_tree_1_to_1.yaml $study/fat_tree_2_to_1.yaml $study/fat_tree_4_to_1.yaml ;;
  nic_speed)
    "$weft" compare $study/llama3_8b_fsdp.yaml $study/alltoall.yaml $books --sensitivity --quiet --json "$out/result.json" \
      --clusters $study/nic_400.yaml $study/nic_800.yaml ;;
  pcie_layouts)
    "$weft" compare $study/collectives.yaml $books --json "$out/result.json" --clusters configs/clusters/pcie8_serial.yaml \
      configs/clusters/pcie8_parallel.yaml configs/clusters/pcie8_hpc.yaml ;;
  tensor_across_nodes)
    "$weft" compare $study/tensor_4.yaml $study/tensor_8.yaml $study/tensor_16.yaml $study/tensor_32.yaml $books \
      --json "$out/result.json" --clusters $study/four_nodes.yaml ;;
  checkpoint_storage)
    "$weft" compare $study/none.yaml $study/local.yaml $study/file_system.yaml $study/file_system_asynchronous.yaml $books \
      --json "$out/result.json" --clusters $study/four_nodes.yaml ;;
  nvl72_or_hgx)
    "$weft" compare $study/expert_24.yaml $study/expert_8.yaml $books --quiet --json "$out/result.json" \
      --clusters $study/nvl72.yaml $study/hgx.yaml ;;
  roce_or_infiniband)
    "$weft" compare $study/alltoall.yaml $books --quiet --json "$out/result.json" --clusters $study/infiniband.yaml \
      $study/infiniband_static.yaml $study/roce_spray.yaml $study/roce_pfc.yaml $study/roce.yaml ;;
  ultra_ethernet)
    "$weft" compare $study/alltoall.yaml $books --quiet --json "$out/result.json" --clusters $study/infiniband.yaml \
      $study/uec.yaml $study/roce_spray.yaml $study/roce.yaml ;;
  *) echo "no study '$name'" >&2; exit 2 ;;
esac
"$weft" report "$out/result.json" --title "$name" --html "$out/page.html" --markdown "$out/numbers.md"
python=${PYTHON:-python3}
if "$python" -c "import matplotlib" 2>/dev/null; then
  "$python" plots/comparison.py "$out/result.json" -o "$out/picture.png"
else
  echo "no picture: $python has no matplotlib (Debian: python3-matplotlib)"
fi
