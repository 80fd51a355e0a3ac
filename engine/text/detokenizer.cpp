#include "engine/text/detokenizer.h"

#include <utility>

#include "engine/text/utf8.h"

namespace bitwin {
namespace {

constexpr char32_t kReplacement = 0xfffd;

}  // namespace

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool special)
    : tokenizer_(std::move(tokenizer)), special_(special) {}

std::string Detokenizer::push(TokenId id) {
  held_ += tokenizer_->bytes(id, special_);
  return take_complete();
}

std::string Detokenizer::finish() {
  std::string text;
  // What is held back is the beginning of one character.
  if (!held_.empty()) utf8::append(text, kReplacement);
  held_.clear();
  return text;
}

std::string Detokenizer::take_complete() {
  std::string text;
  size_t position = 0;
  while (position < held_.size()) {
    const utf8::Step step = utf8::decode(held_, position);
    if (step.form == utf8::Form::incomplete) break;
    if (step.form == utf8::Form::valid) {
      text.append(held_, position, step.length);
    } else {
      utf8::append(text, kReplacement);
    }
    position += step.length;
  }
  held_.erase(0, position);
  return text;
}

}  // namespace bitwin
