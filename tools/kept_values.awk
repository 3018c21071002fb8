# Prints the values of kernels in a profile that public tables gave (validate/kernels/fit.py), and their calibrations: what a
# calibration to a node's own measurements starts from.
/^  gpu\.(gemm|fp8_tensor|fp8_row|fp8_block|fp4|prefill|decode|latent_prefill|latent_decode)\./ { print }
/^[^ ]/ { section = $1 }
/^calibrations:/ { print }
section == "calibrations:" && /^  [a-z]/ { kept = /^  (gemm|prefill|decode|latent_prefill|latent_decode)/ }
section == "calibrations:" && /^  / && kept { print }
