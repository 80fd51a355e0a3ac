#include "native/help.h"

namespace bitwin::native {
namespace {

constexpr size_t kLeft = 26;
constexpr size_t kRight = 74;

std::string wrapped(const std::string& text) {
  std::string result;
  size_t line_start = 0;
  for (size_t i = 0; i < text.size();) {
    size_t end = text.find(' ', i);
    if (end == std::string::npos) end = text.size();
    if (!result.empty()) {
      bool fits = result.size() + 1 + (end - i) - line_start <= kRight;
      result += fits ? ' ' : '\n';
      if (!fits) line_start = result.size();
    }
    result.append(text, i, end - i);
    i = end + 1;
  }
  return result;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kLeft); }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0 && !option->get_type_name().empty()) text += " " + option->get_type_name();
    if (option->get_required()) text += " (required)";
    return text;
  }

  std::string make_option_desc(const CLI::Option* option) const override { return wrapped(option->get_description()); }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace bitwin::native
