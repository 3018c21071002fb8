# Prints the values of a shipped profile that a calibration of collectives leaves as they are, those of kernels (gpu.*) and of
# libraries, each with its calibration: what a calibration to a node's own measurements starts from. -v also=ll128 keeps those of a
# protocol too.
/^  (gpu|libraries)\./ || also && index($0, "  collectives." also ".") == 1 { print }
/^[^ ]/ { section = $1 }
/^calibrations:/ { print }
section == "calibrations:" && /^  [a-z]/ { kept = $1 == also ":" || !/^  (launch|ll|ll_rate|ll128|simple|store|links|p2p|all_quick):/ }
section == "calibrations:" && /^  / && kept { print }
