#include "engine/text/detokenizer.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"
#include "tests/unit/vocabularies.h"

namespace {

using namespace bitwin;
using namespace bitwin::testing;

// What comes out for the tokens of single bytes, piece by piece; ids of small_vocabulary are the bytes.
std::vector<std::string> stream(std::string_view bytes) {
  Detokenizer detokenizer(make_tokenizer(small_vocabulary({{"a", "b"}})));
  std::vector<std::string> pieces;
  for (char c : bytes) pieces.push_back(detokenizer.push(static_cast<uint8_t>(c)));
  pieces.push_back(detokenizer.finish());
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

#define FFFD "\xef\xbf\xbd"

}  // namespace

TEST_CASE("a character comes out with its last byte, whole") {
  CHECK(stream("a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80.") ==
        std::vector<std::string>{"a", "", "\xc3\xa9", "", "", "\xe4\xb8\xad", "", "", "", "\xf0\x9f\x98\x80", ".", ""});
}

TEST_CASE("the text is the same however it is split into tokens") {
  const std::string text = "z\xc3\x9f\xe2\x82\xac\xf0\x90\x8d\x88\xf0\x9f\x98\x80!";
  VocabularySource source = small_vocabulary({{"a", "b"}});
  std::vector<std::vector<TokenId>> token(text.size());  // [start][length - 1]: that part of the text
  for (size_t start = 0; start < text.size(); ++start) {
    for (size_t length = 1; start + length <= text.size(); ++length) {
      token[start].push_back(static_cast<TokenId>(source.tokens.size()));
      source.tokens.push_back(to_alphabet(text.substr(start, length)));
    }
  }
  source.kinds.clear();
  const auto tokenizer = make_tokenizer(std::move(source));

  // A cut after byte i where bit i is set.
  for (unsigned cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
    Detokenizer detokenizer(tokenizer);
    std::string out;
    size_t start = 0;
    bool whole = true;
    for (size_t i = 0; i < text.size(); ++i) {
      if (i + 1 < text.size() && (cuts >> i & 1) == 0) continue;
      const std::string part = detokenizer.push(token[start][i - start]);
      start = i + 1;
      for (size_t k = 0; k < part.size();) {
        const utf8::Step step = utf8::decode(part, k);
        whole = whole && step.form == utf8::Form::valid;
        k += step.length;
      }
      out += part;
    }
    REQUIRE(whole);
    REQUIRE(out == text);
    REQUIRE(detokenizer.finish().empty());
  }
}

TEST_CASE("each maximal invalid part becomes one U+FFFD") {
  // The examples of the Unicode Standard, section 3.9, tables 3-8 to 3-11.
  CHECK(joined(stream("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41")) == FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
  CHECK(joined(stream("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41")) == FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
  CHECK(joined(stream("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42")) == FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B");
  CHECK(joined(stream("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41")) == FFFD FFFD FFFD FFFD "A");
}

TEST_CASE("bytes that can be no character are not held back") {
  CHECK(stream("\xe4\xb8"
               "a") == std::vector<std::string>{"", "", FFFD "a", ""});
  CHECK(stream("\xff") == std::vector<std::string>{FFFD, ""});
}

TEST_CASE("half a character at the end becomes one U+FFFD") {
  CHECK(stream("a\xf0\x9f\x98") == std::vector<std::string>{"a", "", "", "", FFFD});
  CHECK(stream("") == std::vector<std::string>{""});
}

TEST_CASE("finishing makes ready for another text") {
  Detokenizer detokenizer(make_tokenizer(small_vocabulary({{"a", "b"}})));
  CHECK(detokenizer.push(0xe4).empty());
  CHECK(detokenizer.finish() == FFFD);
  CHECK(detokenizer.push('x') == "x");
  CHECK(detokenizer.finish().empty());
}

TEST_CASE("control tokens are written out only on request, user-defined ones always") {
  const auto tokenizer = make_tokenizer(
      small_vocabulary({{"a", "b"}}, {{"<|end|>", TokenKind::control}, {"<think>", TokenKind::user_defined}}));
  Detokenizer plain(tokenizer), special(tokenizer, true);
  CHECK(plain.push(257).empty());
  CHECK(special.push(257) == "<|end|>");
  CHECK(plain.push(258) == "<think>");
  CHECK(special.push(258) == "<think>");
  CHECK(plain.push(-1).empty());
  CHECK(plain.push(259).empty());
}
