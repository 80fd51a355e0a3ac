// Fuzz target: a vocabulary and a text, both from the input, through creation, encoding and detokenising.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"

namespace {

using namespace bitwin;

void require(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string_view take(size_t count) {
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(part.size());
    return part;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// The 256 bytes' texts in GPT-2's alphabet.
std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool itself = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    utf8::append(tokens.emplace_back(), itself ? byte : next++);
  }
  return tokens;
}

VocabularySource read_vocabulary(Input& input) {
  constexpr const char* kPre[] = {"qwen2", "deepseek-r1-qwen", "smollm", "gpt-2", "llama-bpe", "llama3", "other"};
  const uint8_t flags = input.byte();
  VocabularySource source;
  source.model = "gpt2";
  source.pre = kPre[flags % 7];
  source.tokens = byte_tokens();
  // Merges of tokens that there are, most of the time; then special and ordinary tokens of any text.
  for (int count = input.byte() % 32; count > 0; --count) {
    const std::string left = source.tokens[input.byte() * source.tokens.size() / 256];
    const std::string right = source.tokens[input.byte() * source.tokens.size() / 256];
    source.merges.push_back(left + " " + right);
    if (flags < 250) source.tokens.push_back(left + right);
  }
  source.kinds.assign(source.tokens.size(), 1);
  for (int count = input.byte() % 16; count > 0; --count) {
    source.kinds.push_back(input.byte() % 8);
    source.tokens.emplace_back(input.take(input.byte() % 12));
  }
  if ((flags & 8) != 0) source.bos = input.byte() * 2 - 1;
  if ((flags & 16) != 0) source.kinds.clear();
  return source;
}

bool is_utf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const utf8::Step step = utf8::decode(text, position);
    if (step.form != utf8::Form::valid) return false;
    position += step.length;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const auto created = Tokenizer::create(read_vocabulary(input));
  if (!created.ok()) {
    require(!created.status().message().empty());
    return 0;
  }
  const std::shared_ptr<const Tokenizer>& tokenizer = *created;
  const bool nfc = tokenizer->pre() == "qwen2" || tokenizer->pre() == "deepseek-r1-qwen";
  const std::string_view text = input.rest();
  for (const bool parse_special : {false, true}) {
    const auto ids = tokenizer->encode(text, {.parse_special = parse_special});
    require(ids.ok());
    std::string bytes, streamed;
    Detokenizer detokenizer(tokenizer, true);
    for (TokenId id : *ids) {
      require(id >= 0 && id < tokenizer->size());
      require(parse_special || tokenizer->kind(id) != TokenKind::control);
      bytes += tokenizer->bytes(id, true);
      const std::string piece = detokenizer.push(id);
      require(is_utf8(piece));
      streamed += piece;
    }
    streamed += detokenizer.finish();
    require(nfc || bytes == text);
    require(is_utf8(streamed));
    if (is_utf8(bytes)) require(streamed == bytes);
    // NFC is idempotent.
    if (nfc && !parse_special) {
      const auto again = tokenizer->encode(bytes, {});
      require(again.ok());
      std::string same;
      for (TokenId id : *again) same += tokenizer->bytes(id, true);
      require(same == bytes);
    }
  }
  return 0;
}
