// The first step of encoding: splits a text into pieces that BPE does not merge across.
// The splits are those of the models' published regular expressions, as scanners over code points.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bitwin {

enum class Split {
  gpt2,    // '(s|t|re|ve|m|ll|d) | ?\p{L}+ | ?\p{N}+ | ?[^\s\p{L}\p{N}]+ | \s+(?!\S) | \s+
  smollm,  // every number on its own, and GPT-2's split between the numbers
  qwen2,   // (?i:'(s|t|re|ve|m|ll|d)) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N} | ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ |
           // \s+(?!\S) | \s+
  llama3,  // the same with \p{N}{1,3}
};

struct PreTokenizer {
  Split split = Split::gpt2;
  bool nfc = false;           // texts are brought into NFC first
  bool whole_pieces = false;  // a piece that is a token is that token, whatever the merges would make of it
};

// By the name in tokenizer.ggml.pre; none for one the engine does not know.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);

// The end of the piece that starts at `position`, which is within the text: > position. A byte that is not UTF-8
// is a piece of its own. All pieces of a text together take linear time.
size_t piece_end(Split split, std::string_view text, size_t position);

}  // namespace bitwin
