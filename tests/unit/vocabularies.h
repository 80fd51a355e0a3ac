// Vocabularies for tests: small ones made on the spot, and those of published models.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/load/gguf.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"
#include "tests/unit/catch.h"

namespace bitwin::testing {

// `bytes` in GPT-2's byte alphabet.
inline std::string to_alphabet(std::string_view bytes) {
  static const std::vector<char32_t> kAlphabet = [] {
    std::vector<char32_t> alphabet;
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool itself = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
      alphabet.push_back(itself ? byte : next++);
    }
    return alphabet;
  }();
  std::string text;
  for (char c : bytes) utf8::append(text, kAlphabet[static_cast<uint8_t>(c)]);
  return text;
}

using Merges = std::vector<std::pair<std::string, std::string>>;  // of bytes, best first
using Specials = std::vector<std::pair<std::string, TokenKind>>;

// Ids 0 to 255 are the bytes, then comes what each merge makes (once), then the special tokens.
inline VocabularySource small_vocabulary(const Merges& merges, const Specials& specials = {},
                                         const char* pre = "gpt-2") {
  VocabularySource source;
  source.model = "gpt2";
  source.pre = pre;
  std::map<std::string, TokenId> ids;
  const auto add = [&](const std::string& bytes) {
    if (ids.emplace(bytes, source.tokens.size()).second) source.tokens.push_back(to_alphabet(bytes));
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const auto& [left, right] : merges) {
    add(left + right);
    source.merges.push_back(to_alphabet(left) + " " + to_alphabet(right));
  }
  source.kinds.assign(source.tokens.size(), static_cast<int64_t>(TokenKind::normal));
  for (const auto& [text, kind] : specials) {
    source.tokens.push_back(text);
    source.kinds.push_back(static_cast<int64_t>(kind));
  }
  return source;
}

inline std::shared_ptr<const Tokenizer> make_tokenizer(VocabularySource source) {
  auto tokenizer = Tokenizer::create(std::move(source));
  INFO(tokenizer.status().message());
  REQUIRE(tokenizer.ok());
  return *tokenizer;
}

inline std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
  auto ids = tokenizer.encode(text, options);
  INFO(ids.status().message());
  REQUIRE(ids.ok());
  return *ids;
}

inline std::string decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string text;
  for (TokenId id : ids) text += tokenizer.bytes(id, true);
  return text;
}

// Takes the vocabulary from a file's metadata.
class VocabularySink : public GgufSink {
 public:
  Status on_header(GgufMetadata& metadata, std::span<const TensorInfo>) override {
    BITWIN_ASSIGN_OR_RETURN(source.model, metadata.require_string("tokenizer.ggml.model"));
    BITWIN_ASSIGN_OR_RETURN(source.pre, metadata.require_string("tokenizer.ggml.pre"));
    BITWIN_ASSIGN_OR_RETURN(const uint64_t bos, metadata.require_unsigned("tokenizer.ggml.bos_token_id"));
    BITWIN_ASSIGN_OR_RETURN(const uint64_t eos, metadata.require_unsigned("tokenizer.ggml.eos_token_id"));
    source.bos = static_cast<int64_t>(bos);
    source.eos = static_cast<int64_t>(eos);
    source.tokens = metadata.find("tokenizer.ggml.tokens")->strings;
    source.kinds = metadata.find("tokenizer.ggml.token_type")->integers;
    source.merges = metadata.find("tokenizer.ggml.merges")->strings;
    return {};
  }
  Status on_rows(const TensorInfo&, int64_t, int64_t, std::span<const uint8_t>) override { return {}; }
  Status on_tensor_end(const TensorInfo&) override { return {}; }

  VocabularySource source;
};

// The tokeniser "qwen2", "smollm" or "deepseek-r1-qwen"; made once.
// The name is a plain pointer: GCC 14 suspects a reference that is returned next to a temporary argument of dangling.
inline const Tokenizer& published_tokenizer(const char* name) {
  static std::map<std::string, std::shared_ptr<const Tokenizer>> made;
  if (const auto it = made.find(name); it != made.end()) return *it->second;
  const char* folder = std::getenv("BITWIN_VOCAB_DIR");
  const std::string path =
      (folder != nullptr ? std::string(folder) : std::string(BITWIN_TEST_DATA "/../../build/vocab")) + "/" + name +
      ".gguf";
  std::ifstream file(path, std::ios::binary);
  if (!file) FAIL("cannot read " << path << ": run tools/unpack-vocab, or name its folder in BITWIN_VOCAB_DIR");
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  VocabularySink sink;
  GgufReader reader(sink, bytes.size());
  const Status status = reader.feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  INFO(path << ": " << status.message());
  REQUIRE(status.ok());
  return *(made[name] = make_tokenizer(std::move(sink.source)));
}

}  // namespace bitwin::testing
