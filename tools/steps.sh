# shellcheck shell=bash
# For scripts that run a few long steps: sourced, not run.
#
# step "what it is" command...   prints what is done and, afterwards, how long it took; ends the script if it fails.
# total                          prints how long all of it took.
steps_began=$SECONDS

step() {
  local name=$1 began=$SECONDS status=0
  shift
  printf -- '--- %s: %s\n' "$name" "$*"
  "$@" || status=$?
  if ((status != 0)); then
    printf -- '--- %s: failed with status %d after %d s\n' "$name" "$status" "$((SECONDS - began))" >&2
    exit "$status"
  fi
  printf -- '--- %s: done in %d s\n' "$name" "$((SECONDS - began))"
}

total() {
  printf -- '--- all in %d s\n' "$((SECONDS - steps_began))"
}
