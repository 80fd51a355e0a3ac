#include "engine/text/bpe.h"

#include <algorithm>
#include <functional>

namespace bitwin {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Some vocabularies' merges make tokens, runs of spaces for instance, that their converters call user-defined.
TokenId find_part(const Vocabulary& vocabulary, std::string_view bytes) {
  const TokenId id = vocabulary.find_normal(bytes);
  return id >= 0 ? id : vocabulary.find_special(bytes);
}

}  // namespace

Status Bpe::build(const Vocabulary& vocabulary, const std::vector<std::string>& merges) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char text = static_cast<char>(byte);
    byte_ids_[byte] = vocabulary.find_normal({&text, 1});
  }

  if (merges.empty()) return error(Code::format, "the vocabulary has no merges (tokenizer.ggml.merges)");
  if (merges.size() >= kNoMerge) return error(Code::format, "the vocabulary has %zu merges, too many", merges.size());
  merges_.reserve(merges.size());
  std::string bytes;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return error(Code::format, "merge %zu (%s) is not two parts with a space between", rank,
                   printable(merge).c_str());
    }
    bytes.clear();
    append_alphabet_bytes(bytes, merge.substr(0, space));
    const size_t left_size = bytes.size();
    append_alphabet_bytes(bytes, merge.substr(space + 1));
    const TokenId left = find_part(vocabulary, std::string_view(bytes).substr(0, left_size));
    const TokenId right = find_part(vocabulary, std::string_view(bytes).substr(left_size));
    const TokenId whole = find_part(vocabulary, bytes);
    if (left < 0 || right < 0 || whole < 0) {
      return error(Code::format, "merge %zu (%s): %s is not a token", rank, printable(merge).c_str(),
                   left < 0    ? "its left part"
                   : right < 0 ? "its right part"
                               : "what it makes");
    }
    // Or plain text could spell a control token.
    if (vocabulary.is_control(whole)) continue;
    merges_.add(static_cast<uint32_t>(left), static_cast<uint32_t>(right),
                {static_cast<uint32_t>(rank), static_cast<uint32_t>(whole)});
  }
  return {};
}

bool Bpe::find_merge(Scratch& scratch, uint32_t left) const {
  Scratch::Symbol& symbol = scratch.symbols[left];
  symbol.rank = kNoMerge;
  if (symbol.next == kNone) return false;
  const TokenId right = scratch.symbols[symbol.next].id;
  const PairTable::Value* merge = merges_.find(static_cast<uint32_t>(symbol.id), static_cast<uint32_t>(right));
  if (merge == nullptr) return false;
  symbol.rank = merge->first;
  symbol.merged = static_cast<TokenId>(merge->second);
  scratch.heap.push_back(uint64_t{symbol.rank} << 32 | left);
  return true;
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& ids, Scratch& scratch) const {
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  std::vector<uint64_t>& heap = scratch.heap;
  symbols.clear();
  heap.clear();
  for (const char c : piece) {
    const TokenId id = byte_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) symbols.push_back({id, kNone, kNone, kNoMerge, -1});
  }
  const auto size = static_cast<uint32_t>(symbols.size());
  for (uint32_t i = 1; i < size; ++i) {
    symbols[i - 1].next = i;
    symbols[i].previous = i - 1;
  }
  if (size == 0) return;
  if (size == 1) {
    ids.push_back(symbols[0].id);
    return;
  }

  for (uint32_t i = 0; i < size; ++i) find_merge(scratch, i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto refresh = [&](uint32_t left) {
    if (find_merge(scratch, left)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto index = static_cast<uint32_t>(heap.back());
    const auto rank = static_cast<uint32_t>(heap.back() >> 32);
    heap.pop_back();
    // Entries are not taken back when a neighbour changes: one whose symbol has another merge now is stale.
    Scratch::Symbol& left = symbols[index];
    if (left.rank != rank) continue;
    Scratch::Symbol& right = symbols[left.next];
    left.id = left.merged;
    left.next = right.next;
    right.rank = kNoMerge;
    if (left.next != kNone) symbols[left.next].previous = index;
    refresh(index);
    if (left.previous != kNone) refresh(left.previous);
  }
  for (uint32_t i = 0; i != kNone; i = symbols[i].next) ids.push_back(symbols[i].id);
}

}  // namespace bitwin
