#include "engine/text/special_matcher.h"

#include <algorithm>

namespace bitwin {

Status SpecialMatcher::build(const Vocabulary& vocabulary) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  size_t bytes = 0;
  for (TokenId id : vocabulary.specials()) bytes += vocabulary.bytes(id).size();
  if (bytes > kMostBytes) {
    return error(Code::unsupported, "the vocabulary's special tokens hold %zu bytes of text, more than %zu", bytes,
                 kMostBytes);
  }

  struct Edge {
    uint32_t from;
    uint8_t byte;
  };
  std::vector<Edge> edges(1);  // into each state, from its parent
  std::vector<uint32_t> depth(1, 0);
  states_.assign(1, State{});
  for (TokenId id : vocabulary.specials()) {
    const std::string_view text = vocabulary.bytes(id);
    if (text.empty()) continue;
    uint32_t state = 0;
    for (size_t i = text.size(); i-- > 0;) {
      const auto byte = static_cast<uint8_t>(text[i]);
      const auto fresh = static_cast<uint32_t>(states_.size());
      uint32_t child = fresh;
      if (state == 0) {
        if (start_[byte] == 0) start_[byte] = fresh;
        child = start_[byte];
      } else if (!transitions_.add(state, byte, {fresh, 0})) {
        child = transitions_.find(state, byte)->first;
      }
      if (child == fresh) {
        states_.push_back({});
        edges.push_back({state, byte});
        depth.push_back(depth[state] + 1);
      }
      state = child;
    }
    State& end = states_[state];
    if (end.any < 0) end.any = id;
    if (end.user_defined < 0 && !vocabulary.is_control(id)) end.user_defined = id;
  }

  // Failure links by ascending depth. A state's own token is longer than any that its failure state ends.
  std::vector<uint32_t> order(states_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
  for (uint32_t i : order) {
    if (i == 0) continue;
    State& state = states_[i];
    state.failure = edges[i].from == 0 ? 0 : next(states_[edges[i].from].failure, edges[i].byte);
    if (state.any < 0) state.any = states_[state.failure].any;
    if (state.user_defined < 0) state.user_defined = states_[state.failure].user_defined;
  }
  return {};
}

uint32_t SpecialMatcher::next(uint32_t state, uint8_t byte) const {
  while (state != 0) {
    if (const PairTable::Value* child = transitions_.find(state, byte)) return child->first;
    state = states_[state].failure;
  }
  return start_[byte];
}

std::vector<SpecialMatcher::Match> SpecialMatcher::find(const Vocabulary& vocabulary, std::string_view text,
                                                        bool control) const {
  std::vector<Match> matches;
  uint32_t state = 0;
  for (size_t i = text.size(); i-- > 0;) {
    state = next(state, static_cast<uint8_t>(text[i]));
    const TokenId id = control ? states_[state].any : states_[state].user_defined;
    if (id >= 0) matches.push_back({i, id});
  }
  std::reverse(matches.begin(), matches.end());
  size_t end = 0, kept = 0;
  for (const Match& match : matches) {
    if (match.position < end) continue;
    end = match.position + vocabulary.bytes(match.id).size();
    matches[kept++] = match;
  }
  matches.resize(kept);
  return matches;
}

}  // namespace bitwin
