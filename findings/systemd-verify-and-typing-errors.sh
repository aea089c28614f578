#!/usr/bin/env bash
# systemd-analyze verify, for units with a wrong value, an unknown key, and a program that is missing.
# Guess: it exits with 1 for each, so that a script can rely on it.
# Seen: what systemd would ignore is a line on standard error, and exit code 0: "Restart=on-falure", which means that the
# service is never started again, passes. Only the missing program fails.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

debian_install systemd=252.39-1~deb12u2 libsystemd-shared=252.39-1~deb12u2
export SYSTEMD_UNIT_PATH="$folder/debian/lib/systemd/system"

# verify LINES: what it prints, and its exit code
verify () {
  local code=0 said
  printf '[Service]\n%b\n' "$1" > "$folder/plants.service"
  said=$("$folder/debian/usr/bin/systemd-analyze" verify "$folder/plants.service" 2>&1) || code=$?
  echo "$(sed -nE 's/^.*plants\.service[^ ]* //p' <<<"$said" | head -n 1) ($code)"
}

compare 'a typing error in a value; expected: exit code 1' \
  'Failed to parse service restart specifier, ignoring: on-falure (0)' "$(verify 'ExecStart=/bin/true\nRestart=on-falure')"
compare 'a key that does not exist; expected: exit code 1' \
  "Unknown key 'RestartSecs' in section [Service], ignoring. (0)" "$(verify 'ExecStart=/bin/true\nRestartSecs=1')"
compare 'a program that does not exist' \
  'Command /nowhere/node is not executable: No such file or directory (1)' "$(verify 'ExecStart=/nowhere/node')"
report
