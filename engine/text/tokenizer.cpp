#include "engine/text/tokenizer.h"

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <new>
#include <utility>

#include "engine/text/bpe.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/special_matcher.h"
#include "engine/text/vocabulary.h"

namespace bitwin {
namespace {

// Control tokens that end a turn or a text, as the models' vocabularies spell them.
constexpr std::string_view kEndTexts[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_turn|>",
    "<|EOT|>",
    "<end_of_turn>",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",  // <｜end▁of▁sentence｜>
};

}  // namespace

struct Tokenizer::State {
  Vocabulary vocabulary;
  SpecialMatcher specials;
  Bpe bpe;
  PreTokenizer pre_tokenizer;
  std::string pre;
  TokenId bos = -1, eos = -1;
  bool add_bos = false;
  std::vector<TokenId> ends;  // ascending

  // Appends the tokens of text that holds no special token.
  void encode_plain(std::string_view text, std::vector<TokenId>& ids, Bpe::Scratch& scratch,
                    std::string& normalized) const {
    if (pre_tokenizer.nfc) text = to_nfc(text, normalized);
    for (size_t position = 0; position < text.size();) {
      const size_t end = piece_end(pre_tokenizer.split, text, position);
      const std::string_view piece = text.substr(position, end - position);
      position = end;
      if (pre_tokenizer.whole_pieces) {
        if (const TokenId id = vocabulary.find_normal(piece); id >= 0) {
          ids.push_back(id);
          continue;
        }
      }
      bpe.encode(piece, ids, scratch);
    }
  }
};

Tokenizer::Tokenizer() : state_(std::make_unique<State>()) {}
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(VocabularySource source) {
  if (source.model != "gpt2") {
    return error(Code::unsupported, "the tokeniser model \"%s\" (tokenizer.ggml.model) is not supported, only \"gpt2\"",
                 printable(source.model).c_str());
  }
  const std::optional<PreTokenizer> pre_tokenizer = find_pre_tokenizer(source.pre);
  if (!pre_tokenizer) {
    return error(Code::unsupported,
                 "the pre-tokeniser \"%s\" (tokenizer.ggml.pre) is not supported; these are: qwen2, deepseek-r1-qwen, "
                 "smollm, gpt-2, llama-bpe, llama3",
                 printable(source.pre).c_str());
  }

  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer());
  State& state = *tokenizer->state_;
  state.pre_tokenizer = *pre_tokenizer;
  state.pre = std::move(source.pre);
  BITWIN_RETURN_IF_ERROR(state.vocabulary.build(source.tokens, source.kinds));
  const std::pair<const char*, int64_t> named[] = {
      {"bos", source.bos}, {"eos", source.eos}, {"eot", source.eot}, {"padding", source.pad}};
  for (const auto& [name, id] : named) {
    if (id != -1 && !state.vocabulary.contains(id)) {
      return error(Code::format, "tokenizer.ggml.%s_token_id is %" PRId64 " but the vocabulary has %" PRId64 " tokens",
                   name, id, state.vocabulary.size());
    }
  }
  state.bos = static_cast<TokenId>(source.bos);
  state.eos = static_cast<TokenId>(source.eos);
  state.add_bos = source.add_bos;
  BITWIN_RETURN_IF_ERROR(state.bpe.build(state.vocabulary, source.merges));
  BITWIN_RETURN_IF_ERROR(state.specials.build(state.vocabulary));

  for (int64_t id : {source.eos, source.eot}) {
    if (id >= 0) state.ends.push_back(static_cast<TokenId>(id));
  }
  for (TokenId id : state.vocabulary.specials()) {
    const bool ends =
        std::find(std::begin(kEndTexts), std::end(kEndTexts), state.vocabulary.bytes(id)) != std::end(kEndTexts);
    if (ends && state.vocabulary.is_control(id)) state.ends.push_back(id);
  }
  std::sort(state.ends.begin(), state.ends.end());
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > std::numeric_limits<int32_t>::max()) {
    return error(Code::invalid_argument, "the text has %zu bytes; at most 2^31 - 1 can be encoded at once",
                 text.size());
  }
  try {
    std::vector<TokenId> ids;
    if (options.add_bos && state_->bos >= 0) ids.push_back(state_->bos);
    Bpe::Scratch scratch;
    std::string normalized;
    size_t position = 0;
    for (const auto& [start, id] : state_->specials.find(state_->vocabulary, text, options.parse_special)) {
      state_->encode_plain(text.substr(position, start - position), ids, scratch, normalized);
      ids.push_back(id);
      position = start + state_->vocabulary.bytes(id).size();
    }
    state_->encode_plain(text.substr(position), ids, scratch, normalized);
    return ids;
  } catch (const std::bad_alloc&) {
    return error(Code::out_of_memory, "encoding a text of %zu bytes was refused memory", text.size());
  }
}

std::string_view Tokenizer::bytes(TokenId id, bool special) const {
  const Vocabulary& vocabulary = state_->vocabulary;
  if (!vocabulary.contains(id) || (vocabulary.is_control(id) && !special)) return {};
  return vocabulary.bytes(id);
}

int64_t Tokenizer::size() const { return state_->vocabulary.size(); }

TokenKind Tokenizer::kind(TokenId id) const {
  return state_->vocabulary.contains(id) ? state_->vocabulary.kind(id) : TokenKind::unknown;
}

TokenId Tokenizer::find(std::string_view text) const {
  const TokenId id = state_->vocabulary.find_special(text);
  return id >= 0 ? id : state_->vocabulary.find_normal(text);
}

TokenId Tokenizer::bos() const { return state_->bos; }
TokenId Tokenizer::eos() const { return state_->eos; }
bool Tokenizer::add_bos() const { return state_->add_bos; }

bool Tokenizer::ends_generation(TokenId id) const {
  return std::binary_search(state_->ends.begin(), state_->ends.end(), id);
}

const std::string& Tokenizer::pre() const { return state_->pre; }

}  // namespace bitwin
