#!/bin/sh
# Installs the dependencies, for the Makefile. npm does not load the SQLite driver that it downloads, which may need a newer
# glibc than this machine has. So this loads it once and, if that fails, compiles it. npm's output is shown if it fails.

load_driver() {
  node -e "try { require('sqlite3') } catch ({ message }) { console.log(message.split('\n', 1)[0]); process.exit(1) }"
}

missing=
for compiler in g++ make python3; do
  command -v "$compiler" >/dev/null || missing="$missing $compiler"
done
advice="run apt-get install g++ make python3, and try again."

# node-gyp compiles on all cores. npm ci compiles, too, if it cannot download the driver.
export JOBS=max

echo "Installing packages, once: about a minute, or three if the SQLite driver has to be compiled …"
if ! output=$(npm ci 2>&1); then
  printf '%s\n' "$output" >&2
  [ -z "$missing" ] || echo "Not found:$missing. If npm failed to compile sqlite3, $advice" >&2
  exit 1
fi

problem=$(load_driver) && exit
if [ -n "$missing" ]; then
  echo "The downloaded SQLite driver does not load ($problem), and to compile it$missing must be installed: $advice" >&2
  exit 1
fi
echo "The downloaded SQLite driver does not load ($problem). Compiling it takes one to three minutes." >&2
# sqlite3's install script reads the variable; npm itself has no such option.
if ! output=$(npm_config_build_from_source=sqlite3 npm rebuild sqlite3 2>&1); then
  printf '%s\n' "$output" >&2
  exit 1
fi
problem=$(load_driver) && exit
echo "The compiled SQLite driver does not load: $problem" >&2
exit 1
