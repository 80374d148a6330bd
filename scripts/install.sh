#!/usr/bin/env bash
# install.sh train|test: installs the Debian packages that training, or testing, needs and that are not
# there, as root or by sudo without a password. Where all are there it only looks, in no time. Exits with 2
# where it may not install what is missing.
set -euo pipefail

case ${1:-} in
  train | test) ;;
  *) echo "usage: install.sh train|test" >&2 && exit 2 ;;
esac

packages=(g++ cmake ninja-build libboost-dev nlohmann-json3-dev libcli11-dev)
optional=()
if [ "$1" = test ]; then
  packages+=(catch2)
  optional+=(clang-19 clang-format libdnnl-dev libsentencepiece-dev)  # without them their checks are skipped
fi

if ! command -v dpkg-query >/dev/null; then
  echo "install: not a Debian system; going on with what is here. Needed: ${packages[*]}"
  exit 0
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
missing=() wanted=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
for package in ${optional[@]+"${optional[@]}"}; do installed "$package" || wanted+=("$package"); done
if [ $((${#missing[@]} + ${#wanted[@]})) -eq 0 ]; then
  echo "install: nothing is missing"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  elif [ ${#missing[@]} -gt 0 ]; then
    echo "install: missing packages; install them as root: apt-get install ${missing[*]}" >&2
    exit 2
  else
    echo "install: ${wanted[*]} not installed: the checks that use them are skipped"
    exit 0
  fi
fi
apt() {
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}
available() { [[ $(apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]; }

# The package lists are fetched where something needed is missing or there are none yet; a wanted package
# that Debian's release does not have is no reason to fetch them again in every run.
if [ ${#missing[@]} -gt 0 ] || ! available g++; then
  echo "install: apt-get update"
  apt update
fi
for package in ${wanted[@]+"${wanted[@]}"}; do
  if available "$package"; then
    missing+=("$package")
  else
    echo "install: $package is not available here: the checks that use it are skipped"
  fi
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "install: apt-get install ${missing[*]}"
  apt install --no-install-recommends "${missing[@]}"
fi
