#!/bin/sh
# Runs a command with the account and settings of the units, and with the caller's name for the audit log:
# sudo apps-service moderation queue. /usr/local/bin/apps-service links to it (docs/running.md, "One server").
home=$(dirname "$(dirname "$(readlink -f "$0")")")
if [ "$(id -u)" != 0 ]; then
  echo "apps-service: only root can change to the service's account. Run: sudo apps-service $*" >&2
  exit 1
fi
export OPERATOR="${SUDO_USER:-${OPERATOR:-$(id -un)}}"
# Printed commands begin like the one that was typed: with its path, or its name if the PATH has it.
typed=$0
[ "$(command -v "${0##*/}")" != "$0" ] || typed=${0##*/}
case "${SUDO_COMMAND:-} " in "$0 "*) typed="sudo $typed" ;; esac
export APPS_SERVICE_COMMAND="$typed"
# For status; where apps-service-backup.service writes.
export APPS_SERVICE_BACKUPS=/var/backups/apps-service
node=$home/node_modules/.bin/node
# With the empty file, it does not read the .env of the caller's directory.
exec setpriv --reuid=apps-service --regid=apps-service --init-groups \
  "$node" "$home/deploy/with-settings.ts" --environment-first /etc/apps-service/apps-service.env \
  "$node" --env-file=/dev/null "$home/src/apps-service.js" "$@"
