// Gives the unit tests the environment variables of Node's process; Emscripten makes up its own.
Module['preRun'] = [() => Object.assign(ENV, process.env)];
