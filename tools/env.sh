# Sets the variables that a build and the tools need. Source it in bash:  . tools/env.sh
#   BITWIN_CACHE     where tools/setup and tools/fetch-models keep what they fetched
#   BITWIN_SOURCES   unpacked sources of the libraries that the build compiles itself
#   BITWIN_MODELS    models
#   EMSCRIPTEN_ROOT  Emscripten; give your own (EMSCRIPTEN_ROOT, and EM_CONFIG if it needs one) to use another
# and puts Node 22, npm and emcc first on PATH. What is not installed yet is simply not there: run tools/setup.

export BITWIN_CACHE="${BITWIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bitwin}"
export BITWIN_NODE="$BITWIN_CACHE/node-22.20.0-$(uname -m)"
export BITWIN_SOURCES="$BITWIN_CACHE/sources"
export BITWIN_MODELS="$BITWIN_CACHE/models"

# Emscripten's set-up depends on the system's release; one cache can serve several.
bitwin_system="$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown}${VERSION_ID:-}" || uname -s)"
export BITWIN_TOOLCHAIN="$BITWIN_CACHE/$bitwin_system-$(uname -m)"
unset bitwin_system

if [ -z "${EMSCRIPTEN_ROOT:-}" ] && [ -e "$BITWIN_TOOLCHAIN/emscripten/env.sh" ]; then
  . "$BITWIN_TOOLCHAIN/emscripten/env.sh"
fi
# Emscripten starts Python for every file: spare it the detour over a version manager's shim.
if [ -z "${EMSDK_PYTHON:-}" ] && [ -x /usr/bin/python3 ]; then export EMSDK_PYTHON=/usr/bin/python3; fi

for bitwin_dir in "${EMSCRIPTEN_ROOT:-}" "$BITWIN_NODE/bin"; do
  case ":$PATH:" in
    *":$bitwin_dir:"*) ;;
    *) if [ -d "$bitwin_dir" ]; then PATH="$bitwin_dir:$PATH"; fi ;;
  esac
done
unset bitwin_dir
export PATH
