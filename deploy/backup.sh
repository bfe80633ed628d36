#!/bin/sh
# Backs up the database into a directory, and then deletes older backups there, so that $KEEP remain with the new one.
# `backup` verifies what it has written; if it fails, no older backup is deleted. apps-service-backup.service runs it.
set -eu
export LC_ALL=C
home=$(dirname "$(dirname "$(readlink -f "$0")")")
if ! [ "$KEEP" -ge 1 ] 2>/dev/null; then
  echo "apps-service-backup: KEEP must be a whole number from 1, not \"$KEEP\"" >&2
  exit 1
fi
name_now() { date -u +apps-%Y-%m-%dT%H-%M-%SZ.sqlite; }
# Regular files only. The pattern has no line break, and must match the whole name.
list() {
  find . -maxdepth 1 -type f -regextype posix-extended \
    -regex '\./apps-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z\.sqlite' -printf '%f\n' | sort
}
if ! cd "$1" 2>/dev/null; then
  echo "apps-service-backup: cannot enter $1, the directory of the backups; create it for the service's account (docs/running.md, \"One server\")" >&2
  exit 1
fi
new=$(name_now)
"$home/apps-service" backup "$new"
# Only older ones: a later name is another run's, or of a clock that was ahead, and never pushes the new backup out.
list | awk -v new="$new" '$0 < new' | sort -r | tail -n "+$KEEP" | xargs --no-run-if-empty rm --
future=$(list | awk -v now="$(name_now)" '$0 > now')
if [ -n "$future" ]; then
  for name in $future; do
    echo "apps-service-backup: $PWD/$name has a time in the future; it is neither counted nor deleted. Check the clock, then delete the file or rename it to when it was made." >&2
  done
  exit 1
fi
