// How --help looks.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace bitwin::native {

// Two columns, descriptions wrapped to 100 columns in all; says which options are required, and no more than that.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace bitwin::native
