#include "engine/text/pre_tokenizer.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/text/normalizer.h"
#include "engine/text/utf8.h"
#include "tests/unit/catch.h"

namespace {

using namespace bitwin;
using nlohmann::json;

std::vector<json> read_lines(const char* name) {
  std::ifstream file(std::string(BITWIN_TEST_DATA) + "/tokenizer/" + name);
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

std::vector<std::string> split(std::string_view name, std::string_view text) {
  const auto pre_tokenizer = find_pre_tokenizer(name);
  REQUIRE(pre_tokenizer);
  std::vector<std::string> pieces;
  for (size_t position = 0; position < text.size();) {
    const size_t end = piece_end(pre_tokenizer->split, text, position);
    REQUIRE(end > position);
    REQUIRE(end <= text.size());
    pieces.emplace_back(text.substr(position, end - position));
    position = end;
  }
  return pieces;
}

std::string nfc(std::string_view text) {
  std::string storage;
  return std::string(to_nfc(text, storage));
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("every split gives the pieces of the published regular expressions") {
  const std::vector<json> lines = read_lines("splits.jsonl");
  REQUIRE(lines.size() == 600);
  for (const json& line : lines) {
    const auto text = line["text"].get<std::string>();
    for (const char* name : {"qwen2", "llama-bpe", "gpt-2", "smollm"}) {
      INFO(name << " " << line.dump(-1, ' ', true));
      REQUIRE(split(name, text) == line[name].get<Pieces>());
    }
  }
}

TEST_CASE("texts are brought into NFC as the models' published tokenisers do it") {
  const std::vector<json> lines = read_lines("nfc.jsonl");
  REQUIRE(lines.size() == 1200);
  for (const json& line : lines) {
    INFO(line.dump(-1, ' ', true));
    REQUIRE(nfc(line["text"].get<std::string>()) == line["nfc"].get<std::string>());
  }
}

TEST_CASE("both names of a split mean the same") {
  const std::string text = "He'LL pay 12345\r\n  on  time.";
  CHECK(split("deepseek-r1-qwen", text) == split("qwen2", text));
  CHECK(split("llama3", text) == split("llama-bpe", text));
  CHECK(find_pre_tokenizer("qwen2")->nfc);
  CHECK(find_pre_tokenizer("deepseek-r1-qwen")->nfc);
  CHECK_FALSE(find_pre_tokenizer("smollm")->nfc);
  CHECK_FALSE(find_pre_tokenizer("qwen"));
}

TEST_CASE("a byte that is not UTF-8 is a piece of its own") {
  for (const char* name : {"qwen2", "llama-bpe", "gpt-2", "smollm"}) {
    CHECK(split(name, "ab\xff\xfe cd") == Pieces{"ab", "\xff", "\xfe", " cd"});
    CHECK(split(name, "\xe4\xbd") == Pieces{"\xe4", "\xbd"});
    CHECK(split(name, "!\xed\xa0\x80!") == Pieces{"!", "\xed", "\xa0", "\x80", "!"});  // a surrogate
    CHECK(split(name, "  \xff") == Pieces{" ", " ", "\xff"});
  }
}

TEST_CASE("NFC leaves what is not UTF-8 and combines nothing across it") {
  CHECK(nfc("e\xcc\x81\xff"
            "e\xcc\x81") == "\xc3\xa9\xff\xc3\xa9");
  CHECK(nfc("e\xff\xcc\x81") == "e\xff\xcc\x81");
  CHECK(nfc("e\xcc\x81\xcc") == "\xc3\xa9\xcc");
}

TEST_CASE("NFC orders and composes a long run of marks") {
  // 0x301 is of class 230, 0x323 of class 220: all of the latter come first, and one composes with the letter.
  std::string text = "a", expected = "\xe1\xba\xa1";  // a with dot below
  constexpr int kPairs = 50000;
  for (int i = 0; i < kPairs; ++i) text += "\xcc\x81\xcc\xa3";
  for (int i = 1; i < kPairs; ++i) expected += "\xcc\xa3";
  for (int i = 0; i < kPairs; ++i) expected += "\xcc\x81";
  CHECK(nfc(text) == expected);
}

TEST_CASE("UTF-8 reads back every code point and no other form") {
  int valid = 0;
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string bytes;
    utf8::append(bytes, code);
    const utf8::Step step = utf8::decode(bytes, 0);
    valid += step.form == utf8::Form::valid && step.code == code && step.length == bytes.size();
  }
  CHECK(valid == 0x110000 - 0x800);
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    const utf8::Step step = utf8::decode(bad, 0);
    CHECK(step.form == utf8::Form::invalid);
    CHECK(step.length == 1);
  }
}
