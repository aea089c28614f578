# shellcheck shell=bash
# Sourced by every finding: a temporary folder, pinned packages in it, a comparison, and cleaning up.
# Exit codes of a finding: 0 as recorded, 1 it has changed, 2 its packages could not be installed.

folder=$(mktemp -d)
changed=0

clean_up () {
  local pid tries
  while read -r pid; do
    kill "$pid" 2>/dev/null || continue
    for ((tries = 0; tries < 50; tries++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
  done <"$folder/started"
  rm -rf "$folder"
}
: >"$folder/started"
trap clean_up EXIT

# start LOG COMMAND...: in the background, also from a subshell; stopped by its process id at the end
start () {
  local log=$1
  shift
  "$@" >"$log" 2>&1 &
  echo "$!" >>"$folder/started"
}

cannot_install () {
  echo "could not install: $*" >&2
  exit 2
}

# npm_install NAME@VERSION...: into $folder/node_modules, without install scripts
npm_install () {
  (cd "$folder" && echo '{"type":"module","private":true}' > package.json &&
    npm install --silent --no-audit --no-fund --ignore-scripts --engine-strict=false "$@" >/dev/null) ||
    cannot_install "$@"
  echo "versions: $*, $(node --version) of node"
}

# node_install VERSION...: the binaries that the npm package `node` brings, as $folder/node-VERSION
node_install () {
  local version package
  package=node-$(node -p 'process.platform + "-" + process.arch')
  for version in "$@"; do
    mkdir -p "$folder/of-$version"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder/of-$version" "$package@$version" \
      >/dev/null || cannot_install "$package@$version"
    ln -s "$folder/of-$version/node_modules/$package/bin/node" "$folder/node-$version"
    echo "versions: node $version, its SQLite $("$folder/node-$version" -p process.versions.sqlite)"
  done
}

# pypi_install NAME==VERSION...: into a virtual environment, $folder/python
pypi_install () {
  python3 -m venv "$folder/python" || cannot_install venv
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check "$@" || cannot_install "$@"
  echo "versions: $*, $(python3 --version)"
}

# debian_install NAME=VERSION...: unpacked into $folder/debian, nothing is configured or started
debian_install () {
  local package
  mkdir -p "$folder/debian" "$folder/deb"
  (cd "$folder/deb" && apt-get download -qq -o APT::Sandbox::User=root "$@") || cannot_install "$@"
  for package in "$folder"/deb/*.deb; do
    dpkg-deb --extract "$package" "$folder/debian"
  done
  export LD_LIBRARY_PATH="$folder/debian/usr/lib/x86_64-linux-gnu:$folder/debian/usr/lib/x86_64-linux-gnu/systemd"
  echo "versions: $1"
}

# free_port: prints a port of the loopback interface that nobody listens on
free_port () {
  node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close() })"
}

# wait_for_port PORT: at most 20 s
wait_for_port () {
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
      return
    fi
    sleep 0.1
  done
  echo "nothing listens on port $1" >&2
  exit 2
}

# compare WHAT RECORDED SEEN: prints both, and remembers a difference
compare () {
  echo "$1"
  echo "  recorded: $2"
  echo "  seen:     $3"
  if [ "$2" != "$3" ]; then
    echo '  CHANGED'
    changed=1
  fi
}

# the last line of every finding
report () {
  if [ "$changed" = 0 ]; then
    echo 'as recorded'
  else
    echo 'this has changed'
  fi
  exit "$changed"
}
