#include "engine/text/tokenizer.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include "tests/unit/catch.h"
#include "tests/unit/vocabularies.h"

namespace {

using namespace bitwin;
using namespace bitwin::testing;
using Ids = std::vector<TokenId>;

void check_golden(const std::string& name, size_t count) {
  const Tokenizer& tokenizer = published_tokenizer(name.c_str());
  std::ifstream file(BITWIN_TEST_DATA "/tokenizer/" + name + ".jsonl");
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    INFO(line);
    const auto test = nlohmann::json::parse(line);
    const EncodeOptions options{test["parse_special"].get<bool>(), test["add_bos"].get<bool>()};
    REQUIRE(encode(tokenizer, test["text"].get<std::string>(), options) == test["ids"].get<Ids>());
  }
  CHECK(lines == count);
}

// BPE by its definition: while any two neighbours merge, the best merge, leftmost first. The vocabulary is one of
// small_vocabulary with these merges, each of which makes another token.
Ids merge_naively(const Merges& merges, std::string_view text) {
  std::vector<std::string> parts;
  for (char c : text) parts.emplace_back(1, c);
  for (;;) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = std::find(merges.begin(), merges.end(), std::pair(parts[i], parts[i + 1]));
      const auto rank = static_cast<size_t>(found - merges.begin());
      if (rank < best) best = rank, at = i;
    }
    if (best == merges.size()) break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) {
    const auto made =
        std::find_if(merges.begin(), merges.end(), [&](const auto& m) { return m.first + m.second == part; });
    const auto byte = static_cast<uint8_t>(part[0]);
    ids.push_back(part.size() == 1 ? byte : 256 + static_cast<TokenId>(made - merges.begin()));
  }
  return ids;
}

// Random merges over `letters`, each of tokens that there are by then.
Merges random_merges(Random& random, std::string_view letters, size_t count) {
  std::vector<std::string> tokens;
  for (char c : letters) tokens.emplace_back(1, c);
  Merges merges;
  const auto any = [&] {
    return tokens[static_cast<size_t>(random.integer(0, static_cast<int64_t>(tokens.size()) - 1))];
  };
  while (merges.size() < count) {
    const std::string left = any(), right = any();
    if (std::find(tokens.begin(), tokens.end(), left + right) != tokens.end()) continue;
    merges.emplace_back(left, right);
    tokens.push_back(left + right);
  }
  return merges;
}

std::string random_text(Random& random, std::string_view letters, size_t length) {
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    text += letters[static_cast<size_t>(random.integer(0, static_cast<int64_t>(letters.size()) - 1))];
  }
  return text;
}

Status refusal(VocabularySource source) {
  const auto tokenizer = Tokenizer::create(std::move(source));
  REQUIRE_FALSE(tokenizer.ok());
  return tokenizer.status();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const Merges kMerges = {{"a", "b"}, {"ab", "c"}};  // tokens 256 and 257

}  // namespace

TEST_CASE("qwen2 gives the reference's ids on every golden line") { check_golden("qwen2", 178); }
TEST_CASE("smollm gives the reference's ids on every golden line") { check_golden("smollm", 176); }
TEST_CASE("deepseek-r1-qwen gives the reference's ids on every golden line") { check_golden("deepseek-r1-qwen", 179); }

TEST_CASE("merges are those of the definition of BPE") {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const std::string_view letters = std::string_view("abcd").substr(0, static_cast<size_t>(random.integer(1, 4)));
    const Merges merges = random_merges(random, letters, static_cast<size_t>(random.integer(1, 25)));
    const auto tokenizer = make_tokenizer(small_vocabulary(merges));
    for (int i = 0; i < 12; ++i) {
      const std::string text = random_text(random, letters, static_cast<size_t>(random.integer(0, 120)));
      INFO(text);
      REQUIRE(encode(*tokenizer, text) == merge_naively(merges, text));
    }
  }
}

TEST_CASE("a word of a megabyte is encoded in time, and rightly") {
  // Runs of a power of two: the answer is known, and nearly every pair merges.
  Merges merges;
  std::string run = "a";
  for (int i = 0; i < 12; ++i, run += run) merges.emplace_back(run, run);
  const auto tokenizer = make_tokenizer(small_vocabulary(merges));
  constexpr size_t kLength = (1 << 20) + 5;
  Ids expected(kLength / 4096, 256 + 11);
  expected.insert(expected.end(), {256 + 1, 'a'});
  CHECK(encode(*tokenizer, std::string(kLength, 'a')) == expected);

  Random random(2);
  const std::string word = random_text(random, "etaoinshrdlu", 1 << 18);
  for (const char* name : {"qwen2", "smollm"}) {
    const Tokenizer& published = published_tokenizer(name);
    const Ids ids = encode(published, word);
    CHECK(ids.size() < word.size() / 2);
    CHECK(decode(published, ids) == word);
  }
}

TEST_CASE("tokens give back any bytes that were encoded") {
  Random random(3);
  // Bytes that make characters, spaces and words come more often than others.
  const auto any_bytes = [&] {
    std::string text;
    for (int64_t left = random.integer(0, 200); left > 0; --left) {
      text += random.integer(0, 1) == 0 ? static_cast<char>(random.integer(0, 255))
                                        : "ab \n\xc3\xa9'9"[random.integer(0, 7)];
    }
    return text;
  };
  const Tokenizer& smollm = published_tokenizer("smollm");
  const auto llama = make_tokenizer(small_vocabulary(random_merges(random, "ab \n\xc3\xa9", 30), {}, "llama-bpe"));
  for (int i = 0; i < 300; ++i) {
    std::string text = any_bytes();
    REQUIRE(decode(*llama, encode(*llama, text)) == text);
    // SmolLM2's vocabulary has no token for 21 of the bytes: those are left out.
    const Ids ids = encode(smollm, text);
    std::erase_if(text, [&](const char& byte) { return smollm.find({&byte, 1}) < 0; });
    REQUIRE(decode(smollm, ids) == text);
  }
}

TEST_CASE("what is not UTF-8 is encoded byte by byte") {
  const auto tokenizer = make_tokenizer(small_vocabulary({{"\xe4", "\xbd"}, {"\xe4\xbd", "\xa0"}}));
  CHECK(encode(*tokenizer, "\xe4\xbd\xa0") == Ids{257});
  CHECK(encode(*tokenizer, "\xe4\xbd") == Ids{0xe4, 0xbd});
  CHECK(encode(*tokenizer, "\xe4\xbd\xe4\xbd\xa0\xff") == Ids{0xe4, 0xbd, 257, 0xff});
  // Qwen2's NFC goes on around it.
  const Tokenizer& qwen2 = published_tokenizer("qwen2");
  CHECK(decode(qwen2, encode(qwen2,
                             "e\xcc\x81\xff"
                             "e\xcc\x81")) == "\xc3\xa9\xff\xc3\xa9");
}

TEST_CASE("control tokens in a text are text unless they are asked for") {
  const Tokenizer& qwen2 = published_tokenizer("qwen2");
  CHECK(encode(qwen2, "<|im_start|>") == Ids{27, 91, 318, 4906, 91, 29});
  CHECK(encode(qwen2, "<|im_start|>", {.parse_special = true}) == Ids{151644});
  const Tokenizer& r1 = published_tokenizer("deepseek-r1-qwen");
  const std::string user = "<\xef\xbd\x9cUser\xef\xbd\x9c>";
  CHECK(encode(r1, user, {.parse_special = true}) == Ids{151644});
  const Ids as_text = encode(r1, user);
  CHECK(as_text.size() > 1);
  CHECK(std::all_of(as_text.begin(), as_text.end(), [](TokenId id) { return id < 151643; }));
  CHECK(encode(r1, "<think>") == Ids{151648});
}

TEST_CASE("user-defined tokens in the form of role markers count as control") {
  const std::string wide =
      "<\xef\xbd\x9c"
      "User\xef\xbd\x9c>";
  const auto tokenizer = make_tokenizer(small_vocabulary(
      kMerges,
      {{"<|x|>", TokenKind::user_defined}, {wide, TokenKind::user_defined}, {"<x>", TokenKind::user_defined}}));
  CHECK(tokenizer->kind(258) == TokenKind::control);
  CHECK(tokenizer->kind(259) == TokenKind::control);
  CHECK(tokenizer->kind(260) == TokenKind::user_defined);
  CHECK(encode(*tokenizer, "<|x|>" + wide + "<x>", {.parse_special = true}) == Ids{258, 259, 260});
  CHECK(encode(*tokenizer, "<|x|><x>") == Ids{'<', '|', 'x', '|', '>', 260});
}

TEST_CASE("special tokens are found leftmost first, the longest there") {
  const auto tokenizer = make_tokenizer(small_vocabulary(kMerges, {{"<s>", TokenKind::control},        // 258
                                                                   {"<s><t>", TokenKind::control},     // 259
                                                                   {"t>!", TokenKind::user_defined},   // 260
                                                                   {"><", TokenKind::user_defined},    // 261
                                                                   {"s", TokenKind::user_defined}}));  // 262
  const EncodeOptions special{.parse_special = true};
  CHECK(encode(*tokenizer, "<s>", special) == Ids{258});
  CHECK(encode(*tokenizer, "<s><s>", special) == Ids{258, 258});
  CHECK(encode(*tokenizer, "<s><t>!", special) == Ids{259, '!'});
  CHECK(encode(*tokenizer, "<s><t", special) == Ids{258, '<', 't'});
  CHECK(encode(*tokenizer, "<<s>>", special) == Ids{'<', 258, '>'});
  CHECK(encode(*tokenizer, "<s><t>!") == Ids{'<', 262, 261, 260});
  // Text between special tokens is encoded by itself.
  CHECK(encode(*tokenizer, "ab<s>c", special) == Ids{256, 258, 'c'});
}

TEST_CASE("special tokens are found in linear time") {
  // At every position nearly all of the longest token matches.
  const std::string longest = std::string(20000, '<') + ">";
  const auto tokenizer =
      make_tokenizer(small_vocabulary(kMerges, {{longest, TokenKind::control}, {"<>", TokenKind::user_defined}}));
  const std::string text = std::string(1 << 20, '<') + ">";
  Ids expected((1 << 20) - 20000, '<');
  expected.push_back(258);
  CHECK(encode(*tokenizer, text, {.parse_special = true}) == expected);
}

TEST_CASE("merges never make a control token") {
  VocabularySource source = small_vocabulary(kMerges, {{"<e", TokenKind::control}, {"<u", TokenKind::user_defined}});
  source.merges.push_back("< e");
  source.merges.push_back("< u");
  const auto tokenizer = make_tokenizer(std::move(source));
  CHECK(encode(*tokenizer, "<e") == Ids{'<', 'e'});
  CHECK(encode(*tokenizer, "<u") == Ids{259});
}

TEST_CASE("llama-bpe takes a piece that is a token as that token") {
  for (const char* pre : {"llama-bpe", "gpt-2"}) {
    VocabularySource source = small_vocabulary(kMerges, {{"xyz", TokenKind::normal}}, pre);
    const auto tokenizer = make_tokenizer(std::move(source));
    CHECK(encode(*tokenizer, "xyz") == (std::string(pre) == "gpt-2" ? Ids{'x', 'y', 'z'} : Ids{258}));
  }
}

TEST_CASE("the BOS comes in front on request, whatever the text begins with") {
  VocabularySource source = small_vocabulary(kMerges, {{"<s>", TokenKind::control}});
  const auto without = make_tokenizer(source);
  source.bos = 258;
  source.add_bos = true;
  const auto tokenizer = make_tokenizer(std::move(source));
  CHECK(tokenizer->bos() == 258);
  CHECK(tokenizer->add_bos());
  CHECK(encode(*tokenizer, "ab") == Ids{256});
  CHECK(encode(*tokenizer, "", {.add_bos = true}) == Ids{258});
  CHECK(encode(*tokenizer, "<s>ab", {.parse_special = true, .add_bos = true}) == Ids{258, 258, 256});
  CHECK(without->bos() == -1);
  CHECK(encode(*without, "ab", {.add_bos = true}) == Ids{256});
}

TEST_CASE("generation ends at EOS, EOT and the control tokens that end a turn") {
  VocabularySource source = small_vocabulary(kMerges, {{"<|im_start|>", TokenKind::control},
                                                       {"<|im_end|>", TokenKind::control},
                                                       {"<end_of_turn>", TokenKind::user_defined},
                                                       {"<fin>", TokenKind::control}});
  source.eos = 261;
  source.eot = 256;
  const auto tokenizer = make_tokenizer(std::move(source));
  const Ids ids = {255, 256, 257, 258, 259, 260, 261, -1, 262};
  Ids ends;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(ends),
               [&](TokenId id) { return tokenizer->ends_generation(id); });
  CHECK(ends == Ids{256, 259, 261});
  const Tokenizer& r1 = published_tokenizer("deepseek-r1-qwen");
  CHECK(r1.ends_generation(151643));
  CHECK_FALSE(r1.ends_generation(151645));
  // </s> is an ordinary entry of Qwen's vocabularies.
  CHECK(r1.kind(128247) == TokenKind::normal);
  CHECK_FALSE(r1.ends_generation(128247));
}

TEST_CASE("tokens are known by id and by text") {
  const std::string wide = "\xe4\xbd\xa0";  // outside the byte alphabet: it stands for itself
  const auto tokenizer = make_tokenizer(small_vocabulary(
      {{" ", "a"}}, {{"<s>", TokenKind::control}, {"<u>", TokenKind::user_defined}, {wide, TokenKind::normal}}));
  CHECK(tokenizer->size() == 260);
  CHECK(tokenizer->pre() == "gpt-2");
  CHECK(tokenizer->bytes(256, false) == " a");
  CHECK(tokenizer->bytes(257, false).empty());
  CHECK(tokenizer->bytes(257, true) == "<s>");
  CHECK(tokenizer->bytes(258, false) == "<u>");
  CHECK(tokenizer->bytes(259, false) == wide);
  CHECK(tokenizer->bytes(260, true).empty());
  CHECK(tokenizer->bytes(-1, true).empty());
  CHECK(tokenizer->find(" a") == 256);
  CHECK(tokenizer->find("<s>") == 257);
  CHECK(tokenizer->find("<u>") == 258);
  CHECK(tokenizer->find("\xff") == 0xff);
  CHECK(tokenizer->find("nowhere") == -1);
}

TEST_CASE("vocabularies that cannot be used are refused by name") {
  const VocabularySource good = small_vocabulary(kMerges, {{"<s>", TokenKind::control}});
  const auto with = [&](auto change) {
    VocabularySource source = good;
    change(source);
    return refusal(std::move(source));
  };
  const auto check = [](const Status& status, Code code, std::string_view part) {
    INFO(status.message());
    CHECK(status.code() == code);
    CHECK(contains(status.message(), part));
  };
  check(with([](auto& s) { s.model = "llama"; }), Code::unsupported, "\"llama\"");
  check(with([](auto& s) { s.pre = "falcon"; }), Code::unsupported, "\"falcon\"");
  check(with([](auto& s) { s.tokens.clear(), s.kinds.clear(); }), Code::format, "tokenizer.ggml.tokens");
  check(with([](auto& s) { s.merges.clear(); }), Code::format, "tokenizer.ggml.merges");
  check(with([](auto& s) { s.kinds.pop_back(); }), Code::format, "259 tokens but 258 token types");
  check(with([](auto& s) { s.kinds[7] = 9; }), Code::format, "token 7");
  check(with([](auto& s) { s.bos = 259; }), Code::format, "bos_token_id is 259");
  check(with([](auto& s) { s.eos = -2; }), Code::format, "eos_token_id is -2");
  check(with([](auto& s) { s.merges[1] = "a x"; }), Code::format, "merge 1 (a x): what it makes");
  check(with([](auto& s) { s.merges[1] = "nope b"; }), Code::format, "its left part");
  check(with([](auto& s) { s.merges[1] = "b nope"; }), Code::format, "its right part");
  for (const char* bad : {"", " ", "ab", "ab ", " b"}) {
    check(with([&](auto& s) { s.merges[0] = bad; }), Code::format, "merge 0");
  }
}

TEST_CASE("a byte without a token is left out") {
  VocabularySource source = small_vocabulary({{"a", "b"}});
  source.tokens[0x07] = "nothing";
  const auto tokenizer = make_tokenizer(std::move(source));
  CHECK(encode(*tokenizer, "b\x07") == Ids{'b'});
  CHECK(encode(*tokenizer, "\x07").empty());
}
