# What the shell tools share. Source it first:  . "$(dirname "$0")/lib.sh"

set -euo pipefail
BITWIN_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export BITWIN_ROOT
. "$BITWIN_ROOT/tools/env.sh"

# Exit 1 with a sentence for the user.
die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# Progress goes to standard error, so that a tool's standard output stays its result.
say() { echo "== $*" >&2; }

# Runs a command, logs its output to a file and shows the end of it only when the command fails.
# quietly LOG COMMAND...
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" > "$log" 2>&1 < /dev/null; then
    tail -n 40 "$log" >&2
    die "this failed: $* (all of its output: $log)"
  fi
}

# Holds NAME for the rest of this shell, so that two set-ups do not write the same folder at once.
# Tools that a holder calls see BITWIN_LOCKED and do not wait for their own caller.
lock() {
  case " ${BITWIN_LOCKED:-} " in *" $1 "*) return 0 ;; esac
  mkdir -p "$BITWIN_CACHE"
  exec {bitwin_lock_fd}> "$BITWIN_CACHE/$1.lock"
  if ! flock -n "$bitwin_lock_fd"; then
    say "waiting for another process that holds $BITWIN_CACHE/$1.lock"
    flock "$bitwin_lock_fd"
  fi
  export BITWIN_LOCKED="${BITWIN_LOCKED:-} $1"
}

# Whether this is a Debian that the set-up knows, 12 or newer; sets debian_major.
debian_major=0
is_debian() {
  [ -r /etc/os-release ] && [ "$(. /etc/os-release && echo "${ID:-}")" = debian ] || return 1
  debian_major=$(. /etc/os-release && echo "${VERSION_ID:-0}")
  [ "${debian_major%%.*}" -ge 12 ] 2> /dev/null
}

# install_packages PACKAGE...: from the system's archive, after a refresh of the package lists, without questions.
install_packages() {
  [ $# -gt 0 ] || return 0
  is_debian || die "these are missing and this is not Debian 12 or newer, so install them by hand
(names are Debian's): $*"
  local -a as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    [ ! -t 0 ] || as_root=(sudo)
    "${as_root[@]}" true 2> /dev/null || die "these Debian packages are missing, and installing them needs root or sudo:
  apt-get install --no-install-recommends $*"
  fi
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
    apt-get -qy -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
  say "installing with apt: $*"
  quietly "$BITWIN_CACHE/logs/apt-update.log" "${apt[@]}" update
  quietly "$BITWIN_CACHE/logs/apt-install.log" "${apt[@]}" install --no-install-recommends "$@"
}

# apt_private DIR TYPE RELEASE: an apt configuration of its own in DIR, with packages (deb) or sources (deb-src) of
# RELEASE from the mirror that this machine uses; the machine's own package lists stay as they are, and root is not
# needed. Prints the options for apt-get.
apt_private() {
  local dir=$1 type=$2 release=$3 codename uri keys=/usr/share/keyrings/debian-archive-keyring.gpg
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$dir"/{lists/partial,cache/archives/partial,parts}
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v c="$codename" '($1 == c || $1 ~ /^(old)*stable$/) && $2 == "main"' | sort -u > "$dir/mirrors"
  [ -s "$dir/mirrors" ] || die "apt has no mirror of Debian $codename main: check /etc/apt/sources.list"
  while read -r _ _ uri; do
    echo "$type [signed-by=$keys] $uri $release main"
  done < "$dir/mirrors" > "$dir/parts/mirror.list"
  echo -n "-q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$dir/parts -o Dir::State::lists=$dir/lists"
  echo " -o Dir::Cache=$dir/cache -o APT::Sandbox::User=root -o Acquire::Retries=3"
}

# pip_download DIR REQUIREMENT: one package's binary wheel, without what it depends on. At a terminal pip shows progress.
pip_download() {
  python3 -c 'import pip' 2> /dev/null || install_packages python3-pip
  local -a pip=(python3 -m pip download --no-deps --only-binary :all: --no-cache-dir --disable-pip-version-check -d "$1" "$2")
  if [ -t 2 ]; then
    "${pip[@]}" >&2 || die "could not download the package $2"
  else
    quietly "$BITWIN_CACHE/logs/pip.log" "${pip[@]}" -q
  fi
}
