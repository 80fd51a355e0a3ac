// The built-in chat form, ChatML: <|im_start|>role\ntext<|im_end|>\n
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/text/tokenizer.h"

namespace bitwin {

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string text;
};

// Token ids of the messages followed by the opening of the assistant's turn. Control tokens come from the form alone,
// never from a message's text. `continuation`: a conversation is already in the cache and ends in an assistant's
// turn; first closes that turn (unless `turn_closed`, when its end token is already cached).
// The file's BOS is put in front of a new conversation when the file asks for one.
Result<std::vector<TokenId>> render_chatml(const Tokenizer& tokenizer, const std::vector<ChatMessage>& messages,
                                           bool continuation = false, bool turn_closed = false);

}  // namespace bitwin
