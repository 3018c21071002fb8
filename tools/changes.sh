# shellcheck shell=bash
# For scripts that look only at what a change touches: sourced, not run, in the project's folder.
#
# branch_base               prints the commit where this branch left the main one; nothing on the main branch itself, in a shallow
#                           clone or without git
# changed PATHSPEC...       whether a file of these was changed since then, uncommitted or not. On the main branch itself: in the
#                           commits of the twelve hours before the last one, as several may arrive at once. True where there is
#                           nothing to compare with.
# changed_files PATHSPEC... prints those files, but for removed ones; all files where there is nothing to compare with

branch_base() {
  local main
  for main in origin/main main; do
    main=$(git merge-base HEAD "$main" 2>/dev/null) || continue
    [[ $main == "$(git rev-parse HEAD)" ]] || { echo "$main" && return; }
  done
}

# The commit to compare with; nothing where there is none.
change_base() {
  local base last
  base=$(branch_base)
  if [[ -z $base ]]; then
    last=$(git log -1 --format=%ct 2>/dev/null) || return 0
    base=$(git rev-list -1 --before="$((last - 12 * 3600))" HEAD)
  fi
  echo "$base"
}

changed_files() {
  local base
  base=$(change_base)
  if [[ -z $base ]]; then
    git ls-files -- "$@"
  else
    git diff --name-only --diff-filter=d "$base" -- "$@"
    git ls-files --others --exclude-standard -- "$@"
  fi
}

changed() {
  local base
  base=$(change_base)
  [[ -z $base || -n $(git diff --name-only "$base" -- "$@") || -n $(git ls-files --others --exclude-standard -- "$@") ]]
}
