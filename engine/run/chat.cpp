#include "engine/run/chat.h"

namespace bitwin {
namespace {

// Appends text tokens; `form` text may hold control tokens, a message's may not.
Status append(const Tokenizer& tokenizer, std::string_view text, bool form, std::vector<TokenId>& ids) {
  BITWIN_ASSIGN_OR_RETURN(const std::vector<TokenId> more, tokenizer.encode(text, {form, false}));
  ids.insert(ids.end(), more.begin(), more.end());
  return {};
}

}  // namespace

Result<std::vector<TokenId>> render_chatml(const Tokenizer& tokenizer, const std::vector<ChatMessage>& messages,
                                           bool continuation, bool turn_closed) {
  std::vector<TokenId> ids;
  if (!continuation && tokenizer.add_bos() && tokenizer.bos() >= 0) ids.push_back(tokenizer.bos());
  // Text of the form that stands together is encoded together.
  std::string form;
  if (continuation) form = turn_closed ? "\n" : "<|im_end|>\n";
  for (const ChatMessage& message : messages) {
    if (message.role != "system" && message.role != "user" && message.role != "assistant") {
      return error(Code::invalid_argument, "a message's role must be system, user or assistant, not \"%.32s\"",
                   message.role.c_str());
    }
    form += "<|im_start|>" + message.role + "\n";
    BITWIN_RETURN_IF_ERROR(append(tokenizer, form, true, ids));
    BITWIN_RETURN_IF_ERROR(append(tokenizer, message.text, false, ids));
    form = "<|im_end|>\n";
  }
  form += "<|im_start|>assistant\n";
  BITWIN_RETURN_IF_ERROR(append(tokenizer, form, true, ids));
  return ids;
}

}  // namespace bitwin
