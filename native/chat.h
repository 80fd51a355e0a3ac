// A conversation at the terminal.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace bitwin::native {

struct ChatOptions {
  std::string system;        // the system message; empty: none
  GenerateOptions generate;  // its seed grows by one with each answer
  bool quiet = false;
};

// Reads messages and commands until /exit, the end of input or a second Ctrl-C; returns the exit code.
int chat(const std::shared_ptr<const Model>& model, Session& session, const ChatOptions& options);

}  // namespace bitwin::native
