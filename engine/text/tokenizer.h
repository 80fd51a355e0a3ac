// Byte-level BPE: text to token ids and back.
// Method: Sennrich et al. 2016 (BPE) on the byte alphabet of GPT-2, split first by the model's pre-tokeniser.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace bitwin {

using TokenId = int32_t;

// Token kinds as GGUF numbers them.
enum class TokenKind : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// What a model file says about its vocabulary; run/ fills it from the metadata.
struct VocabularySource {
  std::string model;  // tokenizer.ggml.model: "gpt2" is byte-level BPE
  std::string pre;    // tokenizer.ggml.pre: "qwen2", "deepseek-r1-qwen", "smollm", "gpt-2", "llama-bpe", ...
  std::vector<std::string> tokens;  // id -> text, in the byte alphabet for normal tokens, plain UTF-8 for others
  std::vector<int64_t> kinds;       // id -> TokenKind; empty means all normal
  std::vector<std::string> merges;  // "left right", best first
  int64_t bos = -1, eos = -1, eot = -1, pad = -1;  // -1: none
  bool add_bos = false;                            // the file asks for BOS in front of a text
};

struct EncodeOptions {
  // Control tokens written in the text become their ids. When false they are ordinary text;
  // user-defined tokens become their ids either way.
  bool parse_special = false;
  // Puts the BOS id in front, whatever the text begins with; without effect when the file names none.
  bool add_bos = false;
};

class Tokenizer {
 public:
  // Errors: unsupported for another tokeniser model or pre-tokeniser (names it); format for ids out of
  // range, a merge of parts that are not tokens, or missing lists.
  static Result<std::shared_ptr<const Tokenizer>> create(VocabularySource source);
  ~Tokenizer();

  // Any bytes are accepted: what is not UTF-8 is encoded byte by byte. Time is O(n log n) in the text, also
  // without a space in it. A byte that the vocabulary has no token for (SmolLM2's lacks 21, most of them never
  // part of UTF-8) is left out, as the reference tokenisers do.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const;

  // The bytes of one token; empty for control tokens unless `special`, and for ids out of range.
  std::string_view bytes(TokenId id, bool special) const;

  int64_t size() const;
  TokenKind kind(TokenId id) const;
  // The token whose text is exactly `text` (control and user-defined tokens by their text, normal ones by
  // their bytes), or -1.
  TokenId find(std::string_view text) const;
  TokenId bos() const;
  TokenId eos() const;
  bool add_bos() const;
  // Whether generation ends at this token: EOS, EOT, and the other end-of-turn tokens by their text
  // (<|im_end|>, <|eot_id|>, <|end|>, <|endoftext|>, <｜end▁of▁sentence｜>, ... when they are control tokens).
  bool ends_generation(TokenId id) const;
  // The pre-tokeniser in use, as the file names it.
  const std::string& pre() const;

 private:
  Tokenizer();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bitwin
