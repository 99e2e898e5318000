# Sourced: Bazel wants a home folder and a user's name, and a container may have neither.
if [ -z "${HOME:-}" ] || [ ! -w "${HOME:-}" ]; then
  HOME="$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6)"
  if [ -z "$HOME" ] || [ ! -w "$HOME" ]; then
    HOME="${TMPDIR:-/tmp}/signpost-home-$(id -u)"
    mkdir -p "$HOME"
  fi
  export HOME
fi
[ -n "${USER:-}" ] || { USER="$(id -un 2>/dev/null || echo nobody)"; export USER; }
