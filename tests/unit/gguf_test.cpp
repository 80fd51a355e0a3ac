#include "engine/load/gguf.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "tests/support/gguf_collector.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/random.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::GgufCollector;
using testing::GgufWriter;
using testing::read_gguf;
using Bytes = std::vector<uint8_t>;

Bytes random_bytes(size_t size, uint64_t seed) {
  testing::Random random(seed);
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}

const GgufValue& value_of(const GgufCollector& file, const std::string& key) {
  for (const GgufMetadata::Entry& entry : file.entries) {
    if (entry.key == key) return entry.value;
  }
  FAIL("no key " << key);
  return file.entries.front().value;
}

bool same(const GgufValue& a, const GgufValue& b) {
  return a.type == b.type && a.element == b.element && a.u == b.u && a.i == b.i && a.f == b.f && a.s == b.s &&
         a.strings == b.strings && a.integers == b.integers && a.floats == b.floats;
}

TEST_CASE("A GGUF file gives the same rows and metadata for any piece size") {
  const Bytes file = testing::make_tiny_model({});
  GgufCollector whole;
  REQUIRE(read_gguf(file, whole).ok());
  REQUIRE(whole.directory.size() == 26);
  REQUIRE(whole.in_order);
  const size_t piece = GENERATE(1, 2, 3, 7, 64, 1000, 70000);
  const bool tell_size = GENERATE(true, false);
  GgufCollector parts;
  REQUIRE(read_gguf(file, parts, piece, tell_size).ok());
  CHECK(parts.headers == 1);
  CHECK(parts.in_order);
  CHECK(parts.ended == whole.ended);
  CHECK((parts.rows_of == whole.rows_of));
  REQUIRE(parts.entries.size() == whole.entries.size());
  for (size_t i = 0; i < parts.entries.size(); ++i) {
    CHECK(parts.entries[i].key == whole.entries[i].key);
    CHECK(same(parts.entries[i].value, whole.entries[i].value));
  }
}

TEST_CASE("Every tensor's bytes are those of the file at its offset") {
  const Bytes file = testing::make_tiny_model({});
  GgufCollector parts;
  REQUIRE(read_gguf(file, parts, 999).ok());
  for (const TensorInfo& tensor : parts.directory) {
    const auto first = file.begin() + static_cast<ptrdiff_t>(tensor.offset);
    CHECK((parts.rows_of[tensor.name] == Bytes(first, first + static_cast<ptrdiff_t>(tensor.bytes))));
  }
}

TEST_CASE("All metadata types keep their extreme values") {
  GgufWriter writer;
  writer.add_unsigned("u8", GgufType::u8, 255);
  writer.add_unsigned("u16", GgufType::u16, 65535);
  writer.add_unsigned("u32", GgufType::u32, 4294967295u);
  writer.add_unsigned("u64", GgufType::u64, ~uint64_t{0});
  writer.add_signed("i8", GgufType::i8, -128);
  writer.add_signed("i16", GgufType::i16, -32768);
  writer.add_signed("i32", GgufType::i32, std::numeric_limits<int32_t>::min());
  writer.add_signed("i64", GgufType::i64, std::numeric_limits<int64_t>::min());
  writer.add_bool("yes", true);
  writer.add_bool("no", false);
  writer.add_f32("f32", 1.5f);
  writer.add_f64("f64", 0.1);
  writer.add_string("string", std::string_view("a\0b", 3));
  writer.add_string("empty", "");
  writer.add_strings("strings", {"", "x", std::string(1000, 'y')});
  writer.add_strings("no strings", {});
  writer.add_integers("i8s", GgufType::i8, {-128, 127});
  writer.add_integers("u8s", GgufType::u8, {0, 255});
  writer.add_integers("i16s", GgufType::i16, {-32768, 32767});
  writer.add_integers("u16s", GgufType::u16, {65535});
  writer.add_integers("i32s", GgufType::i32, {-2147483648, 2147483647});
  writer.add_integers("u32s", GgufType::u32, {4294967295});
  writer.add_integers("i64s", GgufType::i64, {INT64_MIN, INT64_MAX});
  writer.add_integers("u64s", GgufType::u64, {INT64_MAX});
  writer.add_integers("bools", GgufType::boolean, {1, 0, 1});
  writer.add_f32s("f32s", {1.5f, -2});
  writer.add_f64s("f64s", {0.1, -2});
  const Bytes bytes = writer.finish();
  const size_t piece = GENERATE(0, 1, 5);
  GgufCollector file;
  REQUIRE(read_gguf(bytes, file, piece).ok());
  CHECK(file.entries.size() == 27);
  CHECK(value_of(file, "u8").u == 255);
  CHECK(value_of(file, "u16").u == 65535);
  CHECK(value_of(file, "u32").u == 4294967295u);
  CHECK(value_of(file, "u64").u == ~uint64_t{0});
  CHECK(value_of(file, "i8").i == -128);
  CHECK(value_of(file, "i16").i == -32768);
  CHECK(value_of(file, "i32").i == std::numeric_limits<int32_t>::min());
  CHECK(value_of(file, "i64").i == std::numeric_limits<int64_t>::min());
  CHECK(value_of(file, "yes").u == 1);
  CHECK(value_of(file, "no").u == 0);
  CHECK(value_of(file, "f32").f == 1.5);
  CHECK(value_of(file, "f64").f == 0.1);
  CHECK(value_of(file, "string").s == std::string("a\0b", 3));
  CHECK(value_of(file, "empty").s.empty());
  CHECK(value_of(file, "strings").strings == std::vector<std::string>{"", "x", std::string(1000, 'y')});
  CHECK(value_of(file, "no strings").element == GgufType::string);
  CHECK(value_of(file, "no strings").strings.empty());
  CHECK(value_of(file, "i8s").integers == std::vector<int64_t>{-128, 127});
  CHECK(value_of(file, "u8s").integers == std::vector<int64_t>{0, 255});
  CHECK(value_of(file, "i16s").integers == std::vector<int64_t>{-32768, 32767});
  CHECK(value_of(file, "u16s").integers == std::vector<int64_t>{65535});
  CHECK(value_of(file, "i32s").integers == std::vector<int64_t>{-2147483648, 2147483647});
  CHECK(value_of(file, "u32s").integers == std::vector<int64_t>{4294967295});
  CHECK(value_of(file, "i64s").integers == std::vector<int64_t>{INT64_MIN, INT64_MAX});
  CHECK(value_of(file, "u64s").integers == std::vector<int64_t>{INT64_MAX});
  CHECK(value_of(file, "bools").integers == std::vector<int64_t>{1, 0, 1});
  CHECK(value_of(file, "f32s").floats == std::vector<double>{1.5, -2});
  CHECK(value_of(file, "f64s").floats == std::vector<double>{0.1, -2});
}

TEST_CASE("Metadata getters give values, fallbacks, and errors that name the key") {
  GgufMetadata metadata;
  const auto add = [&](const char* key, GgufType type) -> GgufValue& {
    metadata.mutable_entries().push_back({key, {}});
    metadata.mutable_entries().back().value.type = type;
    return metadata.mutable_entries().back().value;
  };
  add("count", GgufType::u32).u = 7;
  add("signed", GgufType::i32).i = 8;
  add("negative", GgufType::i32).i = -1;
  add("float", GgufType::f32).f = 0.5;
  add("flag", GgufType::boolean).u = 1;
  add("text", GgufType::string).s = "hello";
  CHECK(*metadata.unsigned_or("count", 1) == 7);
  CHECK(*metadata.require_unsigned("signed") == 8);
  CHECK(*metadata.unsigned_or("absent", 5) == 5);
  CHECK(*metadata.float_or("float", 1) == 0.5);
  CHECK(*metadata.float_or("absent", 1) == 1);
  CHECK(*metadata.bool_or("flag", false));
  CHECK(*metadata.bool_or("absent", true));
  CHECK(*metadata.string_or("text", "") == "hello");
  CHECK(*metadata.string_or("absent", "other") == "other");
  CHECK(*metadata.require_string("text") == "hello");
  CHECK(metadata.find("absent") == nullptr);

  CHECK(metadata.unsigned_or("negative", 0).status().message() == "key negative is -1, but should not be negative");
  CHECK(metadata.unsigned_or("text", 0).status().message() == "key text is string, but should be an integer");
  CHECK(metadata.require_unsigned("absent").status().message() == "key absent is missing");
  CHECK(metadata.require_string("absent").status().message() == "key absent is missing");
  CHECK(metadata.float_or("count", 0).status().message() == "key count is u32, but should be a float");
  CHECK(metadata.bool_or("count", false).status().message() == "key count is u32, but should be a bool");
  CHECK(metadata.string_or("flag", "").status().message() == "key flag is bool, but should be a string");
  CHECK(metadata.string_or("flag", "").status().code() == Code::format);
}

TEST_CASE("Versions 2 and 3 read alike") {
  for (uint32_t version : {2u, 3u}) {
    GgufWriter writer(version);
    writer.add_u32("key", 1);
    writer.add_tensor("t", TensorType::f32, {3}, random_bytes(12, 1));
    GgufCollector file;
    REQUIRE(read_gguf(writer.finish(), file).ok());
    CHECK(file.rows_of["t"] == random_bytes(12, 1));
  }
}

TEST_CASE("Tensors come in the order of their offsets, whatever the directory's order, alignment and padding") {
  const uint32_t alignment = GENERATE(1u, 8u, 32u, 4096u);
  const size_t piece = GENERATE(0, 1, 50);
  const uint64_t step = (36 + alignment - 1) / alignment * alignment;
  // The data section is written by hand: "late" comes first in the directory, last in the file.
  GgufWriter writer;
  writer.set_alignment(alignment);
  const Bytes early = random_bytes(36, 1), middle = random_bytes(36, 2), late = random_bytes(36, 3);
  writer.add_tensor("late", TensorType::q8_0, {32}, early);
  writer.set_last_offset(2 * step);
  writer.add_tensor("middle", TensorType::q8_0, {32}, middle);
  writer.set_last_offset(step);
  writer.add_tensor("early", TensorType::q8_0, {32}, late);
  writer.set_last_offset(0);
  GgufCollector file;
  REQUIRE(read_gguf(writer.finish(), file, piece).ok());
  CHECK(file.ended == std::vector<std::string>{"early", "middle", "late"});
  CHECK((file.rows_of["early"] == Bytes(early.begin(), early.begin() + 34)));
  CHECK((file.rows_of["middle"] == Bytes(middle.begin(), middle.begin() + 34)));
  CHECK((file.rows_of["late"] == Bytes(late.begin(), late.begin() + 34)));
}

// 50 rows of 64 KiB: 16 rows are one piece.
Bytes file_of_long_rows() {
  GgufWriter writer;
  writer.add_tensor("first", TensorType::f32, {5}, random_bytes(20, 1));
  writer.add_tensor("long", TensorType::f32, {16384, 50}, random_bytes(50 << 16, 2));
  return writer.finish();
}

TEST_CASE("Rows that lie whole in what is fed are lent in place") {
  const Bytes file = file_of_long_rows();
  GgufCollector whole;
  REQUIRE(read_gguf(file, whole).ok());
  REQUIRE(whole.calls.size() == 2);
  CHECK(whole.calls[1].rows == 50);
  CHECK(whole.calls[1].data == file.data() + whole.directory[1].offset);
}

TEST_CASE("Rows that arrive in parts are assembled in pieces of 1 MiB") {
  const Bytes file = file_of_long_rows();
  GgufCollector parts;
  REQUIRE(read_gguf(file, parts, 1000).ok());
  std::vector<int64_t> rows;
  for (const GgufCollector::Call& call : parts.calls) rows.push_back(call.rows);
  CHECK(rows == std::vector<int64_t>{1, 16, 16, 16, 2});
  CHECK((parts.rows_of["long"] == random_bytes(50 << 16, 2)));
}

TEST_CASE("Positions beyond 4 GiB are read") {
  constexpr uint64_t kOffset = uint64_t{5} << 30;
  GgufWriter writer;
  writer.add_tensor("far", TensorType::f32, {8}, {});
  writer.set_last_offset(kOffset);
  const Bytes header = writer.finish();
  GgufCollector file;
  GgufReader reader(file, 0);
  REQUIRE(reader.feed(header).ok());
  REQUIRE(reader.header_complete());
  const uint64_t needed = reader.bytes_needed();
  REQUIRE(needed >= kOffset + 32);
  const Bytes zeros(32 << 20);
  while (needed - 32 - reader.bytes_fed() != 0) {
    const uint64_t left = needed - 32 - reader.bytes_fed();
    REQUIRE(reader.feed({zeros.data(), static_cast<size_t>(std::min<uint64_t>(left, zeros.size()))}).ok());
  }
  CHECK(reader.feed({}).ok());
  const Bytes data = random_bytes(32, 9);
  REQUIRE(reader.feed(data).ok());
  REQUIRE(reader.finish().ok());
  CHECK(file.rows_of["far"] == data);
  CHECK(file.directory[0].offset == needed - 32);
}

TEST_CASE("Padding after the last tensor is allowed") {
  Bytes file = testing::make_tiny_model({});
  const size_t size = file.size();
  file.resize(size + 100);
  GgufCollector sink;
  GgufReader reader(sink, file.size());
  REQUIRE(reader.feed(file).ok());
  REQUIRE(reader.finish().ok());
  CHECK(reader.bytes_needed() == size);
  CHECK(reader.bytes_fed() == size + 100);
}

TEST_CASE("A file without tensors is complete with its header") {
  testing::TinyModelOptions options;
  options.vocabulary_only = true;
  const Bytes file = testing::make_tiny_model(options);
  GgufCollector sink;
  GgufReader reader(sink, 0);
  REQUIRE(reader.feed({file.data(), file.size() - 1}).ok());
  CHECK_FALSE(reader.header_complete());
  CHECK(reader.bytes_needed() == 0);
  REQUIRE(reader.feed({file.data() + file.size() - 1, 1}).ok());
  CHECK(reader.header_complete());
  CHECK(reader.bytes_needed() == file.size());
  CHECK(reader.finish().ok());
  CHECK(sink.directory.empty());
}

// Fails at the n-th call.
class FailingSink : public GgufCollector {
 public:
  explicit FailingSink(int good_until) : left_(good_until) {}
  Status on_header(GgufMetadata& metadata, std::span<const TensorInfo> tensors) override {
    const Status status = GgufCollector::on_header(metadata, tensors);
    return step(status);
  }
  Status on_rows(const TensorInfo& tensor, int64_t first, int64_t rows, std::span<const uint8_t> bytes) override {
    return step(GgufCollector::on_rows(tensor, first, rows, bytes));
  }
  Status on_tensor_end(const TensorInfo& tensor) override { return step(GgufCollector::on_tensor_end(tensor)); }

 private:
  Status step(const Status& status) { return --left_ == 0 ? Status(Code::unsupported, "enough") : status; }
  int left_;
};

TEST_CASE("An error of the sink ends the reading and stays") {
  const Bytes file = testing::make_tiny_model({});
  const int calls = GENERATE(1, 2, 3, 20);
  FailingSink sink(calls);
  GgufReader reader(sink, file.size());
  const Status status = reader.feed(file);
  CHECK(status.code() == Code::unsupported);
  CHECK(status.message() == "enough");
  const size_t before = sink.calls.size();
  CHECK(reader.feed({file.data(), 1}).message() == "enough");
  CHECK(reader.finish().message() == "enough");
  CHECK(sink.calls.size() == before);
}

class ThrowingSink : public GgufCollector {
 public:
  Status on_rows(const TensorInfo&, int64_t, int64_t, std::span<const uint8_t>) override { throw std::bad_alloc(); }
};

TEST_CASE("Running out of memory is an error, not an exception") {
  const Bytes file = testing::make_tiny_model({});
  ThrowingSink sink;
  const Status status = read_gguf(file, sink);
  CHECK(status.code() == Code::out_of_memory);
  CHECK(status.message().find("not enough memory") != std::string::npos);
}

}  // namespace
}  // namespace bitwin
