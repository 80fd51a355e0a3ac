// Streaming detokenisation: token ids in, whole UTF-8 characters out.
#pragma once

#include <memory>
#include <string>

#include "engine/base/status.h"
#include "engine/text/tokenizer.h"

namespace bitwin {

// Holds back the bytes of a character until it is complete, so that no piece ends inside one. Bytes that can
// never become UTF-8 are replaced by U+FFFD, one for each maximal invalid part (Unicode 15, section 3.9).
class Detokenizer {
 public:
  // special: control tokens are written out by their text instead of being left out.
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool special = false);

  // The characters that `id` completes; may be empty.
  std::string push(TokenId id);
  // The text has ended: what is still held back, as U+FFFD.
  std::string finish();

 private:
  std::string take_complete();
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string held_;
  bool special_;
};

}  // namespace bitwin
