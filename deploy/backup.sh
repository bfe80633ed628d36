#!/bin/sh
# Backs up the database into a directory, and then deletes all but the $KEEP newest backups there. `backup` verifies what it
# has written; if it fails, no older backup is deleted. apps-service-backup.service runs it.
set -eu
home=$(dirname "$(dirname "$(readlink -f "$0")")")
if ! [ "$KEEP" -ge 1 ] 2>/dev/null; then
  echo "apps-service-backup: KEEP must be a whole number from 1, not \"$KEEP\"" >&2
  exit 1
fi
cd "$1"
"$home/apps-service" backup "apps-$(date -u +%Y-%m-%dT%H-%M-%SZ).sqlite"
ls apps-????-??-??T??-??-??Z.sqlite | head -n "-$KEEP" | xargs --no-run-if-empty rm --
